"""The explorer's server: what it gives, and all that it refuses."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kafkaspec.errors import KafkaSpecError
from kafkaspec.explore.server import LONGEST, Explorer, Page, served
from kafkaspec.explore.tree import Tree
from tests.cli.helpers import COMMAND, ROOT, fingerprint, golden, process, run

PAGE = (
    '<!DOCTYPE html><meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
    'connect-src \'none\'"><meta name="explorer-files" content="dropped"><title>t</title>'
)
NAME = f"{0:020d}.log"


@contextmanager
def server(path: Path) -> Iterator[Explorer]:
    with Explorer(Tree.of(path), 0, served(PAGE)) as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield made
        finally:
            made.shutdown()
            thread.join()


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A log directory, and beside it what nobody may read."""
    top = tmp_path / "logs"
    (top / "t-0").mkdir(parents=True)
    (top / "t-0" / NAME).write_bytes(bytes(range(256)))
    (top / "t-0" / "secret.txt").write_text("secret")
    (top / "meta.properties").write_text("version=1\n")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / NAME).write_text("secret")
    (tmp_path / NAME).write_text("secret")
    return top


def ask(
    server: Explorer, place: str, method: str = "GET", body: bytes | None = None, **headers: str
) -> tuple[int, dict[str, str], bytes]:
    """Ask for a place below the token, or for one that begins with a slash."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=300)
    path = place if place.startswith("/") else f"/{server.token}/{place}"
    connection.putrequest(method, path, skip_host="Host" in headers, skip_accept_encoding=True)
    for name, value in headers.items():
        connection.putheader(name.replace("_", "-"), value)
    if body is not None:
        connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, dict(answer.getheaders()), content


def listed(server: Explorer) -> list[dict[str, Any]]:
    status, _, body = ask(server, "files")
    assert status == 200
    files: list[dict[str, Any]] = json.loads(body)["files"]
    return files


def test_the_page_its_files_and_their_bytes(logs: Path) -> None:
    before = fingerprint(logs)
    with server(logs) as made:
        status, headers, body = ask(made, "")
        assert (status, b"connect-src 'self'" in body, b'"served"' in body) == (200, True, True)
        assert headers["Content-Security-Policy"] == (
            "default-src 'none'; connect-src 'self'; frame-ancestors 'none'"
        )
        files = {file["path"]: file for file in listed(made)}
        assert {name: file["size"] for name, file in files.items()} == {
            "meta.properties": 10,
            f"t-0/{NAME}": 256,
        }
        for file in files.values():
            status, headers, body = ask(made, file["url"])
            assert (status, body) == (200, (logs / file["path"]).read_bytes())
            assert ask(made, file["url"], "HEAD")[1]["Content-Length"] == str(file["size"])
    assert fingerprint(logs) == before


def test_every_answer_keeps_to_itself(logs: Path) -> None:
    with server(logs) as made:
        for place in ("", "files", f"file/t-0/{NAME}", "file/none", "/", "nothing"):
            _, headers, _ = ask(made, place)
            assert headers["X-Content-Type-Options"] == "nosniff", place
            assert headers["Referrer-Policy"] == "no-referrer", place
            assert headers["Cache-Control"] == "no-store", place
            assert "'none'" in headers["Content-Security-Policy"], place
            assert "Access-Control-Allow-Origin" not in headers, place
            assert "Python" not in headers["Server"], place


@pytest.mark.parametrize(
    ("asked", "status", "content"),
    [
        ("bytes=0-0", 206, "bytes 0-0/256"),
        ("bytes=10-19", 206, "bytes 10-19/256"),
        ("bytes=250-", 206, "bytes 250-255/256"),
        ("bytes=250-9999999999999999999", 206, "bytes 250-255/256"),
        ("bytes=256-300", 416, "bytes */256"),
        ("bytes=5-4", 416, "bytes */256"),
        ("bytes=-5", 416, "bytes */256"),
        ("bytes=0-1,5-6", 416, "bytes */256"),
        ("lines=0-1", 416, "bytes */256"),
        ("bytes=00000000000000000000000001-2", 416, "bytes */256"),
        ("bytes=\u0661-\u0662".encode().decode("latin-1"), 416, "bytes */256"),
    ],
)
def test_ranges(logs: Path, asked: str, status: int, content: str) -> None:
    with server(logs) as made:
        found, headers, body = ask(made, f"file/t-0/{NAME}", Range=asked)
    assert (found, headers["Content-Range"]) == (status, content)
    if status == 206:
        first, last = map(int, content.removeprefix("bytes ").split("/")[0].split("-"))
        assert body == bytes(range(first, last + 1))


def test_format_pages(logs: Path) -> None:
    with server(logs) as made:
        status, headers, body = ask(made, "pages/recordbatch.md")
        assert (status, headers["Content-Type"]) == (200, "text/plain; charset=utf-8")
        assert body == (ROOT / "generated" / "docs" / "recordbatch.md").read_bytes()
        for name in ("", "none.md", "../explorer/explorer.html", "..%2fREADME.md", "a/b.md"):
            assert ask(made, f"pages/{name}")[0] == 404, name


def test_an_answer_has_a_bound(disk_path: Path) -> None:
    path = disk_path / NAME
    with path.open("wb") as file:
        file.truncate(1 << 40)  # nothing reads it
    with server(path) as made:
        assert listed(made)[0]["size"] == 1 << 40
        assert ask(made, f"file/{NAME}")[0] == 416
        assert ask(made, f"file/{NAME}", "HEAD")[1]["Content-Length"] == str(1 << 40)
        _, headers, body = ask(made, f"file/{NAME}", Range=f"bytes=5-{1 << 40}")
        assert headers["Content-Range"] == f"bytes 5-{LONGEST + 4}/{1 << 40}"
        assert len(body) == LONGEST


def raw(server: Explorer, target: str) -> tuple[int, bytes]:
    """The answer to a request that a library would not send."""
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=300) as made:
        host = f"127.0.0.1:{server.server_port}"
        made.sendall(f"GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: made.recv(65536), b""))
    return int(answer.split()[1]), answer


def test_nobody_reads_without_the_secret(logs: Path) -> None:
    with server(logs) as made:
        half = made.token[:-1]
        for path in (
            "/",
            "/files",
            f"/file/t-0/{NAME}",
            f"/{half}/files",
            f"/{made.token}x/files",
            "//files",
            "/\u00e9/files",
            "*",
            f"http://127.0.0.1/{made.token}/files",
        ):
            status, body = raw(made, path)
            assert status == 403, path
            assert made.token.encode() not in body


def test_a_name_of_another_site_is_refused(logs: Path) -> None:
    """DNS that turns to the loopback gives a page of another site the port, and not the host."""
    with server(logs) as made:
        for host in (
            "evil.example",
            f"evil.example:{made.server_port}",
            "127.0.0.1",
            "localhost",
            "",
        ):
            assert ask(made, "files", Host=host)[0] == 421, host
        for host in (f"127.0.0.1:{made.server_port}", f"LOCALHOST:{made.server_port}"):
            assert ask(made, "files", Host=host)[0] == 200, host


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "X"])
def test_only_reading(logs: Path, method: str) -> None:
    with server(logs) as made:
        status, headers, _ = ask(made, f"file/t-0/{NAME}", method, b"x")
        assert (status, headers["Allow"]) == (405, "GET, HEAD")
        assert ask(made, "files", "GET", b"x")[0] == 400


OUTSIDE = [
    "file/../" + NAME,
    "file/t-0/../../" + NAME,
    "file/%2e%2e/" + NAME,
    "file/..%2f" + NAME,
    "file/t-0%2f..%2f..%2f" + NAME,
    "file/%2fetc%2fpasswd",
    "file//" + NAME,
    "file/./t-0/" + NAME,
    "file/t-0/",
    "file/",
    "file",
    "file/t-0/secret.txt",
    f"file/t-0/{NAME}%00",
    "file/%00",
    "file/linked/" + NAME,
    "file/t-0/00000000000000000007.log",
    "file/t-0/00000000000000000008.log",
    "file/t-0/00000000000000000009.log",
    "file/a/b/c/d/" + NAME,
]


@pytest.mark.skipif(os.name == "nt", reason="links and pipes need rights or do not exist")
def test_nothing_outside(logs: Path) -> None:
    (logs / "linked").symlink_to(logs.parent / "outside")
    (logs / "t-0" / f"{7:020d}.log").symlink_to(logs.parent / NAME)
    (logs / "t-0" / f"{8:020d}.log").mkdir()
    os.mkfifo(logs / "t-0" / f"{9:020d}.log")
    deep = logs / "a" / "b" / "c" / "d"
    deep.mkdir(parents=True)
    (deep / NAME).write_text("too deep")
    with server(logs) as made:
        assert {file["path"] for file in listed(made)} == {"meta.properties", f"t-0/{NAME}"}
        for place in OUTSIDE:
            assert ask(made, place)[0] == 404, place


def test_a_segment_has_what_lies_beside_it(logs: Path) -> None:
    (logs / "t-0" / f"{0:020d}.index").write_bytes(b"")
    (logs / "t-0" / f"{5:020d}.log").write_bytes(b"")
    with server(logs / "t-0" / NAME) as made:
        assert [file["path"] for file in listed(made)] == [f"{0:020d}.index", NAME]
        assert ask(made, f"file/{5:020d}.log")[0] == 404


def test_a_file_of_any_name_if_it_is_named(logs: Path) -> None:
    with server(logs / "t-0" / "secret.txt") as made:
        assert [file["path"] for file in listed(made)] == ["secret.txt"]


def test_hostile_names(tmp_path: Path) -> None:
    names = [
        "<script>alert(1)<:script>-0",
        "\u202egnp.exe-0",
        "a%2f..%2f-0",
        "q?x=1#y&z-0",
        "\x1b[2J-0",
        "\udcff\udcfe-0",
        "'\"-0",
    ]
    try:
        for name in names:
            (tmp_path / name).mkdir()
            (tmp_path / name / NAME).write_text(ascii(name))
    except OSError:
        pytest.skip("the file system has no such names")
    with server(tmp_path) as made:
        files = listed(made)
        assert sorted(file["path"] for file in files) == sorted(f"{name}/{NAME}" for name in names)
        for file in files:
            content = ask(made, file["url"])[2].decode()
            assert content == ascii(file["path"].partition("/")[0])


def test_a_file_that_becomes_shorter(logs: Path) -> None:
    """The answer ends early, so that a browser does not take it for the whole."""
    with server(logs) as made:
        entry = made.tree.open(("t-0", NAME))
        assert entry is not None
        os.close(entry)
        (logs / "t-0" / NAME).unlink()
        assert ask(made, f"file/t-0/{NAME}")[0] == 404


@pytest.mark.parametrize(
    "page",
    [
        "",
        PAGE.replace("connect-src 'none'", ""),
        PAGE.replace("dropped", "other"),
        PAGE.replace("Policy", "policy"),
    ],
)
def test_a_page_of_another_making_is_not_served(page: str) -> None:
    with pytest.raises(ValueError, match="make explorer"):
        served(page)


def test_the_page_in_the_package() -> None:
    assert isinstance(served(), Page)


@pytest.mark.slow
def test_what_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(KafkaSpecError, match="No such file"):
        Tree.of(tmp_path / "none")
    assert process("explore", tmp_path / "none", "--no-browser").returncode == 2
    assert run("explore", "s3://bucket/key").exit_code == 2
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("explore", tmp_path, "--no-browser", "--port", port)
    assert done.exit_code == 2
    assert "in use" in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is another signal there")
def test_the_command_ends_with_ctrl_c() -> None:
    partition = golden("4.4.0", "codec-gzip-0")
    with subprocess.Popen(
        [*COMMAND, "explore", str(partition), "--no-browser"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdout is not None
        address = running.stdout.readline().strip()
        host, _, token = address.removeprefix("http://").partition("/")
        connection = http.client.HTTPConnection(host, timeout=300)
        connection.request("GET", f"/{token}files")
        assert NAME.encode() in connection.getresponse().read()
        connection.close()
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=300)
    assert (running.returncode, out) == (0, "")
    assert err == "Ctrl-C ends the page.\n"


def test_a_browser_is_opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    opened: list[str] = []

    def interrupted(_: Explorer) -> None:
        raise KeyboardInterrupt

    def open_browser(url: str) -> bool:
        opened.append(url)
        return True

    monkeypatch.setattr("webbrowser.open", open_browser)
    monkeypatch.setattr(Explorer, "serve_forever", interrupted)
    done = run("explore", tmp_path)
    assert done.exit_code == 0
    assert [done.stdout.strip()] == opened
