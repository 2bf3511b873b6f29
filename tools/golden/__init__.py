"""Golden segments: real brokers of many Kafka versions write small logs, which are kept as tests.

Run as ``python -m tools.golden list | make [VERSION...] | verify``.  Needs Maven and a JDK 17 for
``make``; ``list`` and ``verify`` need nothing but Python.
"""
