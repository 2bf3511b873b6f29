"""Format pages."""
