"""ReForm-Eval (arXiv 2310.02569): 61 data sets, each sample presented in several wordings."""
