"""The document about the storage format, from ``spec/`` and the rules in ``spec/document/``."""
