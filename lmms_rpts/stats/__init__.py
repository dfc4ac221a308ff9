"""Pure statistics: metrics, intervals, permutation tests."""
