"""CMMaTH: Chinese K12 mathematics with images, graded by rules that abstain or by a judge."""

RULES_VERSION = "6"
"""Saved in every record; changes with every change of the rules that may change a grade."""
