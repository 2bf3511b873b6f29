"""Facts that follow from the model alone, for the linter and for every target."""
