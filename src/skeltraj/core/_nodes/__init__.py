"""What the methods share that place nodes among the rows: starts, scales, default values."""
