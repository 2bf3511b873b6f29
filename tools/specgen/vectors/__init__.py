"""Test vectors from the bounds of the specification."""
