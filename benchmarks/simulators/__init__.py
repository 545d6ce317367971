"""Simulators of cells on a known tree, of kinds that differ: random walks, paths between types, a gene network."""
