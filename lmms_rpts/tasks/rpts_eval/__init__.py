"""RPTS-Eval: agree or disagree with a statement, given images and texts, and say why."""
