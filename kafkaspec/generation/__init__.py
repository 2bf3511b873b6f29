"""Cases made from the specification: bytes, what they cover, and the verdict of the model."""
