"""Groups of observations along a skeleton, and permutation tests."""
