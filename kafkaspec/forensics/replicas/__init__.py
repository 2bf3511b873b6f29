"""Two copies of one partition: what differs, what of it is legal, and what truncation does."""
