"""What is stored in an AnnData, and how it is read back."""
