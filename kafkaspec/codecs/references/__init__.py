"""Codecs with engines of others: second opinions on the results of our own codecs."""
