"""The files beside segments, and the names of all of them."""
