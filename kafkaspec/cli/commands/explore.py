"""``kafkaspec explore``: a page on the loopback that shows files byte by byte."""

from __future__ import annotations

import webbrowser
from contextlib import suppress
from pathlib import Path

import click

from kafkaspec.cli.console import note, say
from kafkaspec.cli.options import LogPath, epilog, no_mmap_option, wrong_usage
from kafkaspec.explore.page import served
from kafkaspec.explore.server import Explorer
from kafkaspec.explore.tree import Tree

_EPILOG = epilog(
    """\
The page answers to this machine alone, and to whoever has its address, which
has a secret in it. It reads files of Kafka's under PATH, follows no symbolic
link, and changes nothing. Ctrl-C ends it.
""",
    """\
Exit codes: 0 ended with Ctrl-C, 2 wrong usage, or PATH cannot be read.
""",
)


@click.command("explore", epilog=_EPILOG)
@click.argument("path", metavar="PATH", type=LogPath())
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    metavar="N",
    help="Port of the loopback; without it the system chooses one.",
)
@click.option(
    "--browser/--no-browser", default=True, help="Open a browser, or print the address only."
)
@no_mmap_option
def explore_command(path: Path, port: int, browser: bool) -> None:
    """Explore files in a browser: batches, records, bytes, field by field.

    PATH is a segment, a partition directory or a log directory.
    """
    with wrong_usage(OSError):
        server = Explorer(Tree.of(path), port, served())
    with server, suppress(KeyboardInterrupt):
        say(server.address)
        note("Ctrl-C ends the page.")
        if browser and not webbrowser.open(server.address):
            note("No browser could be opened: open the address in one.")
        server.serve_forever()
