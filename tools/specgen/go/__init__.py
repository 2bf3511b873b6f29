"""The target for Go: one package of structures, parsers and columns."""
