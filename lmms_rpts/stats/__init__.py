"""Pure statistics: intervals, permutation tests, agreement."""
