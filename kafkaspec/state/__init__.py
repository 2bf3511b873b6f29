"""The state in Kafka's own topics, as brokers and controllers derive it from their records."""
