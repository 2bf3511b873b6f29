"""Kafka's logs: entries, segments, partitions and log directories, look-ups, and encoding."""
