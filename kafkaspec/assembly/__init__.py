"""Text that says each byte of a file, and the bytes that a text says.

``listing`` turns a file into text, ``assemble`` turns the text, edited or not, back into bytes.
Lengths, counts, checksums and relative offsets follow from what is edited, unless they are forced.
"""

from kafkaspec.assembly.bytes import Recomputed
from kafkaspec.assembly.text import MOST, ListedBytes, assemble, listing, listing_as

__all__ = ["MOST", "ListedBytes", "Recomputed", "assemble", "listing", "listing_as"]
