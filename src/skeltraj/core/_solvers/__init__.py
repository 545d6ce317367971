"""Iterations and linear systems that know no method."""
