"""CMMaTH: Chinese K12 maths with pictures, graded by rules that abstain rather than guess."""

RULES_VERSION = "1"
"""Stands in every record; changes with every change of the rules that may change a grade."""
