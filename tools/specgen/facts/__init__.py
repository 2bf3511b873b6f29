"""What follows from the model alone, worked out once for the linter and for every target."""
