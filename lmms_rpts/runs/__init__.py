"""Runs: records, saved responses, samples files that are read and written, rounds of a model."""
