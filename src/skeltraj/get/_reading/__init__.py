"""What reading stored keys needs: checks whose messages list what there is, and cells on one ordered tree."""
