"""Arrow record batches from segments, partitions and log directories, and their export to files.

This package needs PyArrow (the extra ``arrow``).
"""
