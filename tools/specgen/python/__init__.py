"""The typed model, and parsers and serializers in plain Python."""
