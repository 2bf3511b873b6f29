"""Segments in an object store that speaks S3: moto's, on the loopback, which notes each request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

import kafkaspec as ks
from kafkaspec.files.indexes import OffsetIndex
from kafkaspec.io.window import LEAST_AHEAD, LEAST_SPARSE

pytest.importorskip("moto")
pytest.importorskip("s3fs")
pytest.importorskip("pyarrow")

import s3fs
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from pyarrow import fs

from tests.goldens import GOLDEN
from tests.serving import served

pytestmark = pytest.mark.slow

KIBIBYTE = 1 << 10
BUCKET, KEY, SECRET, REGION = "logs", "testing", "testing", "eu-central-1"
LOG = f"{BUCKET}/topic-3/{0:020d}.log"
BATCHES, RECORDS, VALUE = 20, 40, 8000


@dataclass
class Request:
    """The requests, and how many bytes were sent back."""

    method: str
    path: str
    range: str | None
    sent: int = 0


@dataclass
class Store:
    """The server, and what was asked of it."""

    port: int = 0
    requests: list[Request] = field(default_factory=list)

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def reads(self) -> list[Request]:
        """The requests since the last time that asked for bytes of the segment."""
        found = [r for r in self.requests if r.method == "GET" and r.path == f"/{LOG}"]
        self.requests.clear()
        return found


def noting(application: Callable[..., Iterable[bytes]], store: Store) -> Callable[..., Any]:
    """The application, with a note of each request."""

    def call(environ: dict[str, Any], start: Any) -> Iterator[bytes]:
        noted = Request(environ["REQUEST_METHOD"], environ["PATH_INFO"], environ.get("HTTP_RANGE"))
        store.requests.append(noted)
        for part in application(environ, start):
            noted.sent += len(part)
            yield part

    return call


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    noted = Store()
    application = noting(DomainDispatcherApplication(create_backend_app), noted)
    with served(application) as noted.port:
        fill(noted)
        yield noted


def made() -> list[ks.Record]:
    return [
        ks.Record(i, 1_700_000_000_000 + i, b"k", bytes(VALUE)) for i in range(BATCHES * RECORDS)
    ]


def fill(store: Store) -> None:
    """A segment of 20 batches of 320 KB without index, and the index beside it elsewhere."""
    records = made()
    entries = [ks.encode(records[i : i + RECORDS]) for i in range(0, len(records), RECORDS)]
    files = filesystem(store)
    files.mkdir(BUCKET)
    files.pipe_file(LOG, b"".join(entries))
    positions = [sum(map(len, entries[:number])) for number in range(BATCHES)]
    index = b"".join(
        (RECORDS * number).to_bytes(4, "big") + positions[number].to_bytes(4, "big")
        for number in range(1, BATCHES)
    )
    files.pipe_file(LOG.replace("topic-3", "indexed-0"), b"".join(entries))
    files.pipe_file(LOG.replace("topic-3", "indexed-0").replace(".log", ".index"), index)


def filesystem(store: Store) -> Any:
    return s3fs.S3FileSystem(
        key=KEY,
        secret=SECRET,
        client_kwargs={"endpoint_url": store.endpoint, "region_name": REGION},
        skip_instance_cache=True,
    )


def arrow(store: Store) -> Any:
    return fs.S3FileSystem(
        access_key=KEY,
        secret_key=SECRET,
        region=REGION,
        scheme="http",
        endpoint_override=f"127.0.0.1:{store.port}",
    )


@pytest.fixture(params=[filesystem, arrow], ids=["s3fs", "pyarrow"])
def files(request: pytest.FixtureRequest, store: Store) -> Any:
    return request.param(store)


def check_ranges(reads: list[Request], most: int) -> None:
    """Nothing was read but ranges, and not more than ``most`` bytes in all."""
    assert reads
    assert all(read.range and read.range.startswith("bytes=") for read in reads)
    assert 0 < sum(read.sent for read in reads) <= most


def opened(place: str, files: Any) -> ks.Segment:
    segment = ks.open(place, filesystem=files)
    assert isinstance(segment, ks.Segment)
    return segment


def test_opening_reads_nothing_and_a_range_reads_little(store: Store, files: Any) -> None:
    store.requests.clear()
    with opened(LOG, files) as segment:
        assert segment.size > BATCHES * RECORDS * VALUE
        assert store.reads() == []
        table = segment.to_arrow(["offset"], end_offset=10)
        assert table["offset"].to_pylist() == list(range(10))
    check_ranges(store.reads(), 3 * LEAST_AHEAD)


def test_everything_is_read_once(store: Store, files: Any) -> None:
    with opened(LOG, files) as segment:
        store.requests.clear()
        assert list(segment.records()) == made()
        heads = sum(r.method == "HEAD" for r in store.requests)
        reads = store.reads()
        # It is opened once. s3fs asks for the ETag with each range; PyArrow cannot.
        assert heads <= (1 if isinstance(files, s3fs.S3FileSystem) else 1 + len(reads))
        check_ranges(reads, segment.size + KIBIBYTE)
        assert len(reads) < 12


def test_a_look_up_without_an_index_reads_headers(store: Store, files: Any) -> None:
    with opened(LOG, files) as segment:
        store.requests.clear()
        offset = RECORDS * (BATCHES - 1) + 7
        assert segment.find(offset=offset).offset == offset
        one = segment.size // BATCHES
        # One header of each batch, and the batch that is wanted.
        check_ranges(store.reads(), BATCHES * LEAST_SPARSE + one + 2 * LEAST_AHEAD)
        batches = list(segment.batches(start_offset=offset))
        assert [batch.base_offset for batch in batches] == [RECORDS * (BATCHES - 1)]
        check_ranges(store.reads(), BATCHES * LEAST_SPARSE + one + 2 * LEAST_AHEAD)


def test_a_table_of_headers_does_not_read_the_batches(store: Store, files: Any) -> None:
    with opened(LOG, files) as segment:
        store.requests.clear()
        table = segment.batch_table()
        assert table["base_offset"].to_pylist() == [RECORDS * n for n in range(BATCHES)]
        check_ranges(store.reads(), BATCHES * LEAST_SPARSE)


def test_an_index_leads_there(store: Store, files: Any) -> None:
    place = LOG.replace("topic-3", "indexed-0")
    with opened(place, files) as segment:
        assert isinstance(segment.offset_index, OffsetIndex)
        store.requests.clear()
        offset = RECORDS * (BATCHES - 2)
        table = segment.to_arrow(["offset"], start_offset=offset, end_offset=offset + 5)
        assert table["offset"].to_pylist() == list(range(offset, offset + 5))
        reads = [r for r in store.requests if r.method == "GET" and r.path == f"/{place}"]
        check_ranges(reads, 4 * segment.size // BATCHES)


def test_another_version_between_two_ranges_is_an_error(store: Store, files: Any) -> None:
    place = LOG.replace("topic-3", "changing-0")
    other = filesystem(store)
    data = other.cat_file(LOG)
    other.pipe_file(place, data)
    with opened(place, files) as segment:
        records = segment.records()
        assert next(records).offset == 0
        # PyArrow has no ETag and whole seconds: another object of the same size may look the same.
        same_size = isinstance(files, s3fs.S3FileSystem)
        other.pipe_file(place, data[:-1] + bytes([data[-1] ^ 1]) + (b"" if same_size else b"x"))
        with pytest.raises(ks.KafkaSpecError) as caught:
            list(records)
    assert caught.value.reason is ks.Reason.CHANGED
    assert caught.value.file == str(segment.path)
    assert caught.value.position


def test_a_partition(store: Store, files: Any) -> None:
    with ks.open(f"{BUCKET}/indexed-0", filesystem=files) as partition:
        assert isinstance(partition, ks.Partition)
        assert (partition.topic, partition.partition) == ("indexed", 0)
        assert partition.find(offset=777).offset == 777
        assert partition.to_arrow(["offset"]).num_rows == BATCHES * RECORDS


def test_snapshots_beside_a_segment_are_read(store: Store) -> None:
    golden = GOLDEN / "4.3.1" / "logs" / "transactions-0"
    files = filesystem(store)
    for path in golden.iterdir():
        files.put_file(str(path), f"{BUCKET}/transactions-0/{path.name}")
    there = ks.open(f"{BUCKET}/transactions-0", filesystem=files)
    here = ks.open(golden)
    assert isinstance(there, ks.Partition)
    assert isinstance(here, ks.Partition)
    assert here.snapshots
    assert [item.entries for item in there.snapshots] == [item.entries for item in here.snapshots]
    assert there.last_stable_offset == here.last_stable_offset


def test_a_url_with_credentials_of_the_environment(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    monkeypatch.setenv("AWS_ENDPOINT_URL", store.endpoint)
    s3fs.S3FileSystem.clear_instance_cache()
    with ks.open(f"s3://{LOG}") as segment:
        assert isinstance(segment, ks.Segment)
        assert segment.name == f"s3://{LOG}"
        assert segment.base_offset == 0
        assert segment.modified is not None
        assert next(segment.records()).offset == 0
    with pytest.raises(ks.KafkaSpecError) as caught:
        ks.open(f"s3://{BUCKET}/nothing.log")
    assert caught.value.reason is ks.Reason.UNREADABLE
    s3fs.S3FileSystem.clear_instance_cache()
