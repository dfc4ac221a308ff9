"""Grading of final answers by rules: pure functions of texts, English and Chinese."""
