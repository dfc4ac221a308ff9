"""Analyses of runs: frames, summaries, comparisons; scoring of saved responses; estimates."""
