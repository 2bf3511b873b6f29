"""Records for hypothesis: valid by construction, with the edges of every field."""

from __future__ import annotations

from hypothesis import strategies as st

from kafkaspec.model import Record

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")

int64 = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from([-(2**63), -1, 0, 2**63 - 1]),
    st.integers(0, 300),
)
times = st.one_of(st.just(-1), st.integers(0, 2**44), int64)
blobs = st.one_of(
    st.none(), st.binary(max_size=40), st.sampled_from([b"", b"x" * 64, b"\0" * 8192])
)
texts = st.one_of(
    st.text(max_size=8),
    # Bytes that are no UTF-8, as they come back from a log.
    st.binary(max_size=6).map(lambda data: data.decode("utf-8", "surrogateescape")),
)
headers = st.lists(st.tuples(texts, blobs), max_size=3).map(tuple)


@st.composite
def records(draw: st.DrawFn, magic: int, *, least: int = 0) -> list[Record]:
    """Records with rising offsets and gaps, as a log holds them."""
    offset = draw(st.one_of(st.integers(0, 1000), st.integers(0, 2**62)))
    found = []
    for _ in range(draw(st.integers(least, 6))):
        found.append(
            Record(
                offset,
                draw(times) if magic else -1,
                draw(blobs),
                draw(blobs),
                draw(headers) if magic == 2 else (),
            )
        )
        offset += draw(st.integers(1, 100))
    return found
