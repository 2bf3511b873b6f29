"""What Kafka's own topics say: the state that brokers and controllers make of their records."""
