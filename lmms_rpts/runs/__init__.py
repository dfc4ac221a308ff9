"""Runs: samples files as typed responses, rounds of a model, and figures over rounds."""
