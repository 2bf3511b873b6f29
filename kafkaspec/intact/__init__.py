"""Which entries of damaged segments are intact, and which offsets nobody can get back."""
