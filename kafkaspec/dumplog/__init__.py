"""The text of Kafka's own dump tool, ``DumpLogSegments``, as each release prints it."""
