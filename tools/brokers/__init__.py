"""Brokers of every release of Kafka, and their Java classes: what ``tools.golden`` and
``tools.kafka`` run.

Needs Maven, which fetches the jars into a cache outside of the repository, and a JDK 17.
"""
