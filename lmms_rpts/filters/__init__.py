"""lmms-eval filters that convert free-text reasoning into a scored tree."""
