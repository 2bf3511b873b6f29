"""Commands that check logs, and decoders of them."""
