"""``kafkaspec spark`` and its jobs."""
