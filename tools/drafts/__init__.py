"""Drafts of the specification, ``spec/drafts``: edits as data, applied to a copy."""
