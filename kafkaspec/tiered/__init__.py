"""Segments in remote storage, shown as the files of a log directory.

Kafka's own ``LocalTieredStorage`` and Aiven's plugin are read; what others keep in object stores
is named for what it is.
"""
