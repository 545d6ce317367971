"""What surrounds a fit of an AnnData: options, progress, storing."""
