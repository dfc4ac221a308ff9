"""Parsers of judges' replies: scores, verdicts, whole replies."""
