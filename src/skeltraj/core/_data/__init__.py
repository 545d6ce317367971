"""How rows are read: order, blocks, sums over them, dask and files, samples."""
