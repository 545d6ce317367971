"""What MPME and SPL share: distances of pairs, certificates, embeddings."""
