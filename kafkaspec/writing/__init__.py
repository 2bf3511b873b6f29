"""Segments and the files beside them, written as a broker of a chosen version writes them."""
