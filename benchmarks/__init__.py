"""Speed against other readers: ``python -m benchmarks``."""
