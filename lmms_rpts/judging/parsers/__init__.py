"""Parsers of what judges reply: scores, verdicts, whole replies."""
