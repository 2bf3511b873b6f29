"""The contents of keys and values: typed columns by schemas that lie beside the data.

This package needs the extra ``values``.
"""

from __future__ import annotations

from importlib.util import find_spec

_NEEDED = ("pyarrow", "numpy", "orjson", "fastavro", "ptars", "grpc_tools")

if not all(map(find_spec, _NEEDED)):
    raise ImportError("values need more libraries: pip install 'kafkaspec[values]'")
