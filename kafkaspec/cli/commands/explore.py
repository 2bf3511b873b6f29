"""``kafkaspec explore``: a page on the loopback that shows files byte by byte."""

from __future__ import annotations

import webbrowser
from contextlib import suppress

import click

from kafkaspec.cli.command import command, option
from kafkaspec.cli.console import note, say
from kafkaspec.cli.options import OnePath, no_mmap_option, wrong_usage
from kafkaspec.explore.server import Explorer, served
from kafkaspec.explore.tree import Tree

_EPILOG = """
The page answers to this machine alone, and to whoever has its address, which
has a secret in it. It reads files of Kafka's under PATH, follows no symbolic
link, and changes nothing. Ctrl-C ends it.

Exit codes: 0 ended with Ctrl-C, 2 wrong usage, or PATH cannot be read.
"""


@command(None, _EPILOG, shared=(no_mmap_option,))
def explore_command(
    *,
    path: OnePath,
    port: int = option(
        "Port of the loopback; without it the system chooses one.",
        type=click.IntRange(0, 65535),
        default=0,
        metavar="N",
        show_default=False,
    ),
    browser: bool = option(
        "--browser/--no-browser", "Open a browser, or print the address only.", default=True
    ),
) -> None:
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
