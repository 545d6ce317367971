"""Which matrix a fit takes, and whether it is still what a stored fit was made of."""
