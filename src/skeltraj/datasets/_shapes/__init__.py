"""What the simulated shapes share."""
