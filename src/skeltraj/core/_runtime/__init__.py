"""What every entry point needs: checked arguments, compiled kernels, threads, warnings."""
