"""Figures of logs: measured by segment, merged in any order, shown by log or topic.

The measuring of a segment gives small tables, a ``Part``. Merging parts is associative and does not
depend on their order, so that threads, processes and Spark give the same figures. This package
needs PyArrow, NumPy and datasketches (the extra ``stats``).
"""
