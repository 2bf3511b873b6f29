"""Jobs over whole log directories; each is a function from a path to DataFrames."""
