"""What the cohorts share: their files, how tables are read, and the annotated data made of them."""
