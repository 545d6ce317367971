"""The published methods, one in each file."""
