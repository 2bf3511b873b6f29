"""What is inside of keys and values: typed columns from schemas that lie beside the data.

This package needs the extra ``values``.
"""

from __future__ import annotations
