"""Write the document about the storage format, docs/format, from spec/ and spec/document/.

python -m tools.document            write the pages, and take the numbers of new sections and rules
python -m tools.document --check    fail if a page, a number, or a test that a rule names is wrong
python -m tools.document --pdf F    set all of it as one file (needs what make docs installs)
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

import click

from tools.document import source
from tools.document.pages import pages
from tools.document.shown import missing
from tools.document.typeset import typeset, typst_source
from tools.specgen.document import SpecError
from tools.specgen.loader import load

INTO: Final = source.ROOT / "docs" / "format"
REPOSITORY: Final = "https://example.org/kafkaspec"
"""A placeholder until the project has a public place; KAFKASPEC_REPOSITORY goes before it."""
_HEAD: Final = """\
# Numbers of sections and rules that are taken, each with the id of the section. Lines are only
# added: `python -m tools.document` does so, and refuses a number that moved, went or came twice.
"""


def made(spec: Path = source.ROOT / "spec") -> dict[str, str]:
    """Return the text of each file of the document, by name."""
    return pages(source.read(spec / "document"), load(spec))


def problems() -> list[str]:
    """Return what is wrong with numbers and with the tests that are named."""
    document = source.read()
    return [*source.moved(document, source.taken()), *missing(document)]


def write_pdf(into: Path, repository: str) -> None:
    """Write the document as one file.

    Args:
        into: the file.
        repository: address of the repository, for links that leave the document.

    Raises:
        ModuleNotFoundError: what sets it is not installed.
    """
    document = source.read()
    typeset(typst_source(document, made(), repository), document.facts["date"], into)


@click.command(help=__doc__)
@click.option("--check", is_flag=True, help="Write nothing; fail if a file would change.")
@click.option("--pdf", type=click.Path(path_type=Path, dir_okay=False), help="Write the PDF alone.")
def main(check: bool, pdf: Path | None) -> None:
    """Write, or compare; end with 1 if something is wrong, with 2 if a tool is missing."""
    if pdf is not None:
        try:
            write_pdf(pdf, os.environ.get("KAFKASPEC_REPOSITORY", REPOSITORY).rstrip("/"))
        except ModuleNotFoundError as absent:
            click.echo(f"--pdf needs {absent.name}; make docs installs it", err=True)
            sys.exit(2)
        return
    try:
        files, wrong = made(), problems()
        document, numbers = source.read(), source.taken()
    except SpecError as error:
        sys.exit(str(error))
    added = source.new(document, numbers)
    if check:
        wrong += [f"{number} is not in numbers.txt" for number in added]
        wrong += differences(files)
    for problem in wrong:
        click.echo(problem, err=True)
    if wrong:
        repair = "; repair pages with: python -m tools.document" if check else ""
        sys.exit(f"the document has {len(wrong)} problems{repair}")
    if not check:
        _write(files, numbers | added)


def differences(files: dict[str, str]) -> list[str]:
    """Return which files of the document are not as given."""
    there = {path.name: path.read_text(encoding="utf-8") for path in sorted(INTO.glob("*"))}
    return [
        f"docs/format/{name} {'differs' if name in there and name in files else 'is not right'}"
        for name in sorted({*files, *there})
        if files.get(name) != there.get(name)
    ]


def _write(files: dict[str, str], numbers: dict[str, str]) -> None:
    INTO.mkdir(exist_ok=True)
    for path in INTO.glob("*"):
        if path.name not in files:
            path.unlink()
    for name, text in files.items():
        (INTO / name).write_text(text, encoding="utf-8")
    lines = "".join(f"{number} {meaning}\n" for number, meaning in numbers.items())
    (source.FOLDER / "numbers.txt").write_text(f"{_HEAD}{lines}", encoding="utf-8")


if __name__ == "__main__":
    main()
