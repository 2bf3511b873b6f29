"""Makes what a release publishes, and judges it: ``make wheels``."""
