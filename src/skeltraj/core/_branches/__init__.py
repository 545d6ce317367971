"""Which branches are real: pruning, held-out gain, agreement of divisions."""
