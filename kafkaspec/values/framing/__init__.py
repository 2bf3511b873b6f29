"""What stands before a payload, or in the headers of its record, and says which schema it has."""

from __future__ import annotations
