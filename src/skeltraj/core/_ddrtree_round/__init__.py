"""What DDRTree does in each of its rounds: passes over the rows, and the system of its nodes."""
