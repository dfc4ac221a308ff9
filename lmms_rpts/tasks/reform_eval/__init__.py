"""ReForm-Eval (arXiv 2310.02569): 61 data sets, each asked in several wordings."""
