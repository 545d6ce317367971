"""Points and nodes as arrays: k-d tree, spanning tree, assignment, neighbours."""
