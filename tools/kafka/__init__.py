"""Let Kafka's own code judge what kafkaspec reads and writes.

Classes of each release read bytes and say what is in them; whole brokers get directories that
kafkaspec wrote. ``tools.brokers`` runs both. The tests are in ``tests/kafka`` and run with
``make test-kafka``.
"""
