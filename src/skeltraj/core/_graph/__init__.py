"""A skeleton as an object: nodes, branches, positions, order, paths."""
