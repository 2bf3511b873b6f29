"""Kafka's logs: entries, segments, partitions and log directories, lookups, and encoding."""
