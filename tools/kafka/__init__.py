"""Kafka's own code as the judge of what kafkaspec reads and writes.

Small Java programs are compiled against the jars of one release (``tools.brokers.maven`` fetches
them) and asked about bytes; whole brokers are given directories that kafkaspec wrote.  The tests
are in ``tests/kafka`` and run with ``make test-kafka``.
"""
