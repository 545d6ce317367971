"""What the pictures share: colours, coordinates, layouts, and marks on Axes."""
