"""Pure statistics: intervals, permutation tests."""
