"""Commands about what Kafka's own topics say."""
