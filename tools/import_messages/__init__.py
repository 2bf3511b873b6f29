"""Bring Kafka's message schemas into the specification, and compare both."""
