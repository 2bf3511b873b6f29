"""The version of the library, for it and for its package."""

__version__ = "0.2.0"
