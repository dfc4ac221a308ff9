"""ReForm-Eval: 61 data sets as single choice, reading of text, and captions."""
