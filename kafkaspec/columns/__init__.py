"""Records of a log in columns, whatever codec reads them: one reader, and memory that it fills."""
