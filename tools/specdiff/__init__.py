"""Compare two specifications: what changed, whom it breaks, and bytes that show it."""
