"""SQL over logs: DuckDB with a view for each topic, which reads no more than a query needs.

This package needs the extra ``sql``.
"""

from __future__ import annotations
