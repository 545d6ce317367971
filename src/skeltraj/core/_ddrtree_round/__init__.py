"""A round of DDRTree: its steps, the pass over the rows that it takes, and the system of its nodes."""
