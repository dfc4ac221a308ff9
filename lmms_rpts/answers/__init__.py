"""Parsers of final answers that benchmarks share; English and Chinese."""
