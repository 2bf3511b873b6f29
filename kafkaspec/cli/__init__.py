"""The ``kafkaspec`` command. Nothing imports it but the entry point."""
