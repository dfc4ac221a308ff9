"""Parsers of final answers, shared by the benchmarks; English and Chinese."""
