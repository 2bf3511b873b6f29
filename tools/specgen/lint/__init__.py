"""The rules of the specification, checked."""
