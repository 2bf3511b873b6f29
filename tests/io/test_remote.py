"""Remote files that change, lie about their size or keep secrets, over HTTP on the loopback."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import kafkaspec as ks
from kafkaspec.io.remote import address, as_path

pytest.importorskip("aiohttp")
fsspec = pytest.importorskip("fsspec")
pytest.importorskip("werkzeug")

from tests.cli.helpers import run  # noqa: E402
from tests.serving import served  # noqa: E402

NAME = f"{0:020d}.log"
VALUE = bytes(60_000)
_RANGE = re.compile(r"bytes=(\d+)-(\d+)")


def content(key: bytes = b"k", count: int = 12) -> bytes:
    """A segment of batches of 60 kB, which takes several ranges to read."""
    return b"".join(ks.encode([ks.Record(i, 1_700_000_000_000, key, VALUE)]) for i in range(count))


@dataclass
class Server:
    """A server of one file.

    Attributes:
        data: the file.
        tag: its ETag, "" for none.
        sized: whether the server says how long answers are.
        ranges: whether it knows ranges.
        change: called before each answer with bytes, with the number of those before.
        answer: changes the bytes of an answer.
        asked: ranges that were asked for.
    """

    data: bytes
    tag: str = '"1"'
    modified: str = ""
    sized: bool = True
    ranges: bool = True
    change: Callable[[Server, int], None] = lambda _server, _count: None
    answer: Callable[[bytes], bytes] = bytes
    asked: list[str] = field(default_factory=list)
    sent: int = 0

    def __call__(self, environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        if not environ["PATH_INFO"].endswith(NAME):
            start("404 Not Found", [("Content-Length", "0")])
            return []
        reads = environ["REQUEST_METHOD"] == "GET"
        if reads:
            self.change(self, len(self.asked))
            self.asked.append(environ.get("HTTP_RANGE", ""))
        headers = [("ETag", self.tag)] if self.tag else []
        if self.modified:
            headers.append(("Last-Modified", self.modified))
        found = _RANGE.fullmatch(environ.get("HTTP_RANGE", "")) if self.ranges else None
        data, status = self.data, "200 OK"
        if found is not None:
            first, last = int(found[1]), min(int(found[2]), len(data) - 1)
            headers.append(("Content-Range", f"bytes {first}-{last}/{len(data)}"))
            data, status = self.answer(data[first : last + 1]), "206 Partial Content"
        if self.sized:
            headers.append(("Content-Length", str(len(data))))
        start(status, headers)
        return self._parts(data) if reads else []

    def _parts(self, data: bytes) -> Iterator[bytes]:
        for first in range(0, len(data), 1 << 16):
            self.sent += len(data[first : first + (1 << 16)])
            yield data[first : first + (1 << 16)]


@contextmanager
def over_http(server: Server, user: str = "", query: str = "") -> Iterator[str]:
    with served(server) as port:
        yield f"http://{user}127.0.0.1:{port}/logs/topic-3/{NAME}{query}"


def refused(url: str) -> ks.KafkaSpecError:
    with pytest.raises(ks.KafkaSpecError) as caught, ks.open(url) as segment:
        list(segment.records())
    return caught.value


@pytest.mark.slow
def test_a_segment_over_http() -> None:
    server = Server(content())
    with over_http(server) as url, ks.open(url) as segment:
        assert isinstance(segment, ks.Segment)
        assert (segment.name, str(segment.path)) == (url, url)
        assert (segment.base_offset, segment.size) == (0, len(server.data))
        assert [record.offset for record in segment.records()] == list(range(12))
    assert len([asked for asked in server.asked if asked]) > 1


CHANGES: dict[str, Callable[[Server, int], None]] = {}


def change(function: Callable[[Server], None]) -> None:
    """Note a change that comes after the first range."""

    def apply(server: Server, count: int) -> None:
        if count == 1:
            function(server)

    CHANGES[function.__name__] = apply


@change
def another_tag(server: Server) -> None:
    server.data, server.tag = content(b"x"), '"2"'


@change
def another_time(server: Server) -> None:
    server.data, server.modified = content(b"x"), "Tue, 22 Nov 2022 10:00:01 GMT"


@change
def shorter(server: Server) -> None:
    server.data = server.data[:-10]


@change
def longer(server: Server) -> None:
    server.data = content(count=13)


@change
def gone(server: Server) -> None:
    server.data, server.tag = b"", ""


@pytest.mark.slow
@pytest.mark.parametrize("name", CHANGES)
def test_another_version_between_two_ranges_is_an_error(name: str) -> None:
    server = Server(content(), modified="Tue, 22 Nov 2022 10:00:00 GMT", change=CHANGES[name])
    with over_http(server) as url:
        error = refused(url)
    assert (error.reason, error.file) == (ks.Reason.CHANGED, url)
    assert error.position is not None
    first = _RANGE.fullmatch(server.asked[0])
    assert first is not None
    assert error.position == int(first[2]) + 1  # where the second range begins


@pytest.mark.slow
def test_an_unknown_size_is_an_error_and_not_an_empty_log() -> None:
    with over_http(Server(content(), sized=False)) as url:
        error = refused(url)
        assert error.reason is ks.Reason.UNREADABLE
        assert error.file == url
        assert "does not say how many bytes" in error.detail


@pytest.mark.slow
def test_a_server_that_ignores_ranges_is_an_error() -> None:
    server = Server(content(count=40), ranges=False)
    with over_http(server) as url:
        error = refused(url)
    assert (error.reason, error.file) == (ks.Reason.UNREADABLE, url)
    assert error.position
    assert "range" in error.detail


@pytest.mark.slow
@pytest.mark.parametrize("more", [-1, 1, 5000])
def test_an_answer_of_another_length_is_an_error(more: int) -> None:
    server = Server(content(), answer=lambda data: data[:more] if more < 0 else data + bytes(more))
    with over_http(server) as url:
        error = refused(url)
    assert (error.reason, error.file, error.position) == (ks.Reason.UNREADABLE, url, 0)
    assert "bytes were asked for" in error.detail


SECRETS = ("someone", "password", "signature", "c2lnbmVk")


@pytest.mark.slow
def test_credentials_of_a_url_stand_nowhere(tmp_path: Path) -> None:
    server = Server(content(count=2))
    with over_http(server, "someone:password@", "?signature=c2lnbmVk") as url:
        path = as_path(url)
        shown = url.replace("someone:password", "***").partition("?")[0] + "?***"
        assert (str(path), repr(path)) == (shown, f"<RemotePath {shown}>")
        assert (path.name, address(path)) == (NAME, url)
        with ks.open(url) as segment:
            assert isinstance(segment, ks.Segment)
            assert (segment.name, segment.base_offset) == (shown, 0)
            assert sum(1 for _ in segment.records()) == 2
            texts = [repr(segment)]
        page = tmp_path / "report.html"
        assert run("verify", url, "--html", page).exit_code == 0
        texts.append(page.read_text("utf-8"))
        assert "kafkaspec verify" in texts[-1]
        server.data = server.data[:100] + b"x" + server.data[101:]
        texts.append(str(refused(url)))
        with pytest.raises(ks.KafkaSpecError) as caught:
            ks.open(url.replace(NAME, "other"))
        texts += [str(caught.value), repr(caught.value), str(caught.value.file)]
    texts.append(str(refused(url)))  # the server is gone, and the library's message has the URL
    texts.append(str(refused(url.replace("http:", "nosuch:"))))
    texts.append(str(refused(url.replace("http:", "reference:"))))
    for text in texts:
        assert not [secret for secret in SECRETS if secret in text], text
        assert "http://http" not in text


# Each fails for want of an argument, a package or a connection.
ODD = ("dir", "zip", "tar", "libarchive", "reference", "blockcache", "generic", "async_wrapper")


@pytest.mark.parametrize("scheme", [*ODD, "nosuch", "wandb", "git", "dask", "jlab", "dvc", ""])
def test_odd_protocols_are_our_error(scheme: str) -> None:
    error = refused(f"{scheme}://place/{NAME}")
    assert error.reason is ks.Reason.UNREADABLE


def test_a_file_system_in_memory_that_changes() -> None:
    files = fsspec.filesystem("memory")
    place = f"/changing/topic-3/{NAME}"
    files.pipe_file(place, content())
    with ks.open(f"memory:/{place}") as segment:
        assert isinstance(segment, ks.Segment)
        records = segment.records()
        next(records)
        time.sleep(0.002)  # times of files are compared in ms
        files.pipe_file(place, content(b"x"))
        with pytest.raises(ks.KafkaSpecError) as caught:
            list(records)
    assert caught.value.reason is ks.Reason.CHANGED
    files.rm("/changing", recursive=True)
