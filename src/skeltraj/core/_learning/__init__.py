"""What surrounds a fit: denoising, several starts, replicates, new rows."""
