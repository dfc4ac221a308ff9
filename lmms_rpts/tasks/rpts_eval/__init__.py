"""RPTS-Eval: agree or disagree with a statement, given images and texts, with reasons."""
