"""The text files of a log directory, one module for each file.

Each module has ``parse``, ``read`` and ``serialize``.

``parse`` takes bytes and accepts what Kafka's reader accepts, ``read`` takes a path, and
``serialize`` returns the bytes that Kafka would write. Nothing here writes a file.
"""

from __future__ import annotations
