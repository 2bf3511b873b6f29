"""Readers in other languages: a generated part, and what each language has above it by hand."""
