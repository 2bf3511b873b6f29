"""A server for one browser on the same machine: it reads files, and changes none."""

from __future__ import annotations

import hmac
import json
import os
import re
import secrets
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from socketserver import TCPServer
from typing import Final
from urllib.parse import quote_from_bytes, unquote_to_bytes

from kafkaspec.explore.tree import Tree

_FORMATS: Final = "kafkaspec._generated.docs"
_PACKAGE, _PAGE = "kafkaspec._generated.explorer", "explorer.html"
_DROPPED: Final = '<meta name="explorer-files" content="dropped">'
_SERVED: Final = '<meta name="explorer-files" content="served">'
_LINKS, _OWN_LINKS = 'content="../docs/">', 'content="pages/">'
_POLICY: Final = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')
_ALONE, _OWN = "connect-src 'none'", "connect-src 'self'"


def format_page(name: str) -> bytes | None:
    """Return a format page, which the fields link to; None if there is none of that name."""
    if re.fullmatch(r"[a-zA-Z0-9_]+\.md", name) is None:
        return None
    page = files(_FORMATS).joinpath(name)
    return page.read_bytes() if page.is_file() else None


@dataclass(frozen=True)
class Page:
    """The page, and the policy that its meta element and the header of its answer have."""

    html: bytes
    policy: str


def served(text: str | None = None) -> Page:
    """Return the page, or the one of the package, as it is served: it connects to nothing else."""
    if text is None:
        text = files(_PACKAGE).joinpath(_PAGE).read_text(encoding="utf-8")
    found = _POLICY.search(text)
    if found is None or text.count(_DROPPED) != 1 or found[1].count(_ALONE) != 1:
        raise ValueError("the page of the explorer is not one that make explorer makes")
    policy = found[1].replace(_ALONE, _OWN)
    start, end = found.span(1)
    html = (text[:start] + policy + text[end:]).replace(_DROPPED, _SERVED)
    html = html.replace(_LINKS, _OWN_LINKS)
    return Page(html.encode(), f"{policy}; frame-ancestors 'none'")


HOST: Final = "127.0.0.1"
LONGEST: Final = 16 << 20
"""Bytes of one answer; a page that asks for more gets as many, and is told so."""
_PIECE: Final = 1 << 20
_RANGE: Final = re.compile(r"bytes=([0-9]{1,19})-([0-9]{0,19})", re.ASCII)
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_NOTHING: Final = "default-src 'none'; frame-ancestors 'none'"
"""The policy of all answers but the page."""


class Explorer(ThreadingHTTPServer):
    """The server; its address has a secret that each request needs."""

    daemon_threads = True
    allow_reuse_address = False  # nobody shall take over the port of a server that has ended

    def __init__(self, tree: Tree, port: int, page: Page) -> None:
        """Take a port of the loopback: this one, or with 0 one that is free.

        Raises:
            OSError: the port is taken.
        """
        super().__init__((HOST, port), _Handler)
        self.tree, self.page = tree, page
        self.token = secrets.token_urlsafe(32)

    def server_bind(self) -> None:
        """Bind, and do not ask the DNS for the name of the loopback, as the library does."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = HOST, self.server_address[1]

    @property
    def address(self) -> str:
        """The address for a browser."""
        return f"http://{HOST}:{self.server_port}/{self.token}/"

    @property
    def hosts(self) -> frozenset[str]:
        """The names of this server for a browser: any other name is an attack by DNS."""
        return frozenset(f"{name}:{self.server_port}" for name in (HOST, "localhost"))

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: a browser that goes away in the middle of an answer is not an error."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "kafkaspec", ""
    timeout = 60
    server: Explorer

    def do_GET(self) -> None:
        """Answer with the page, the list, or bytes of a file."""
        self._answer()

    do_HEAD = do_GET  # noqa: N815

    def _answer(self) -> None:
        refused = self._refused()
        place = self.path.partition("?")[0].split("/")[2:]
        if refused is not None:
            self._refuse(refused)
        elif place == [""]:
            page = self.server.page
            self._send(page.html, "text/html; charset=utf-8", page.policy)
        elif place == ["files"]:
            self._send(_listed(self.server.tree), "application/json")
        elif place[:1] == ["pages"] and (text := format_page("/".join(place[1:]))) is not None:
            self._send(text, "text/plain; charset=utf-8")
        elif place[:1] == ["file"]:
            self._file(tuple(os.fsdecode(unquote_to_bytes(part)) for part in place[1:]))
        else:
            self._refuse(HTTPStatus.NOT_FOUND)

    def _refused(self) -> HTTPStatus | None:
        """Return why a request gets no answer at all, None if it gets one."""
        if self.headers.get("Content-Length", "0") != "0" or "Transfer-Encoding" in self.headers:
            self.close_connection = True  # the body would be taken for the next request
            return HTTPStatus.BAD_REQUEST
        hosts = self.headers.get_all("Host", [])
        if len(hosts) != 1 or hosts[0].lower() not in self.server.hosts:
            return HTTPStatus.MISDIRECTED_REQUEST
        secret = self.path.split("/")[1:2] or [""]
        known = self.server.token.encode()
        same = hmac.compare_digest(secret[0].encode("latin-1", "replace"), known)
        return None if same else HTTPStatus.FORBIDDEN

    def _file(self, names: tuple[str, ...]) -> None:
        file = self.server.tree.open(names)
        if file is None:
            self._refuse(HTTPStatus.NOT_FOUND)
            return
        try:
            self._range(file, os.fstat(file).st_size)
        finally:
            os.close(file)

    def _range(self, file: int, size: int) -> None:
        """Answer with what was asked for, but no more than ``LONGEST`` bytes of it."""
        asked = self.headers.get("Range")
        whole = asked is None and (size <= LONGEST or self.command == "HEAD")
        found = _RANGE.fullmatch(asked or "")
        first = int(found[1]) if found else 0
        last = min(int(found[2] or size), size - 1, first + LONGEST - 1) if found else size - 1
        if not whole and (found is None or last < first):
            size_only = {"Content-Range": f"bytes */{size}"}
            self._refuse(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, size_only)
            return
        status, header = HTTPStatus.OK, {"Accept-Ranges": "bytes"}
        if found:
            status = HTTPStatus.PARTIAL_CONTENT
            header = {"Content-Range": f"bytes {first}-{last}/{size}"}
        left = last - first + 1
        self._begin(status, left, "application/octet-stream", header)
        if self.command == "HEAD":
            return
        os.lseek(file, first, os.SEEK_SET)
        while left:
            piece = os.read(file, min(left, _PIECE))
            if not piece:  # the file became shorter: the browser sees that bytes are missing
                self.close_connection = True
                return
            self.wfile.write(piece)
            left -= len(piece)

    def _send(self, body: bytes, kind: str, policy: str = _NOTHING) -> None:
        self._begin(HTTPStatus.OK, len(body), kind, policy=policy)
        if self.command != "HEAD":
            self.wfile.write(body)

    def _refuse(self, status: HTTPStatus, headers: dict[str, str] | None = None) -> None:
        body = f"{status.value} {status.phrase}\n".encode()
        self._begin(status, len(body), "text/plain; charset=utf-8", headers)
        if self.command != "HEAD":
            self.wfile.write(body)

    def _begin(
        self,
        status: HTTPStatus,
        length: int,
        kind: str,
        headers: dict[str, str] | None = None,
        policy: str = _NOTHING,
    ) -> None:
        self.send_response(status)
        own = {"Content-Type": kind, "Content-Length": str(length), **(headers or {})}
        for name, value in (own | _HEADERS | {"Content-Security-Policy": policy}).items():
            self.send_header(name, value)
        self.end_headers()

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse what the library refuses, such as other methods, without a word of the request."""
        self.close_connection = True
        self.command = self.command or "GET"
        headers = {"Allow": "GET, HEAD", "Connection": "close"}
        status = HTTPStatus(code)
        self._refuse(HTTPStatus.METHOD_NOT_ALLOWED if code == 501 else status, headers)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Print nothing: an address has the secret in it."""


def _listed(tree: Tree) -> bytes:
    """Return the list of files as JSON in ASCII; each has its address below that of the page."""
    entries, more = tree.entries()
    rows = [
        {
            "path": "/".join(entry.parts),
            "url": "file/"
            + "/".join(quote_from_bytes(os.fsencode(part), "") for part in entry.parts),
            "size": entry.size,
            "modified": entry.modified,
        }
        for entry in entries
    ]
    listed = {"root": tree.root.name, "files": rows, "more": more, "longest": LONGEST}
    return json.dumps(listed).encode("ascii")
