"""Commands that write logs and the files beside them."""
