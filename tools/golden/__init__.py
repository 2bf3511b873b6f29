"""Make the golden segments: small logs that real brokers of many Kafka versions wrote, for tests.

Run as ``python -m tools.golden list | make [VERSION...] | verify``.  Needs Maven and a JDK 17 for
``make``; ``list`` and ``verify`` need only Python.
"""
