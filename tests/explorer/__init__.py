"""The explorer: its engine, its page, and the server that brings it files."""
