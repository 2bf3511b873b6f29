"""Script for ``spark-submit``: ``kafkaspec spark`` in an existing session."""

from __future__ import annotations

import sys

from kafkaspec.cli.main import main

if __name__ == "__main__":
    main(["spark", *sys.argv[1:]], prog_name="kafkaspec")
