"""Build the site of the documentation, and check it. Needs npm, for what browsers run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import click

from tools.document.__main__ import REPOSITORY, write_pdf
from tools.document.pages import PDF
from tools.site import pages
from tools.site.check import check, external, unreachable
from tools.site.search import missed

HERE = Path(__file__).parent

_SCRIPTS = {
    "mermaid": ("dist/mermaid.min.js", "mermaid.js"),
    "iframe-worker": ("shim/index.js", "iframe-worker.js"),
}
"""What a browser runs: the package, the file in it, and its name on the site."""


@click.command(help=__doc__)
@click.option(
    "--into",
    type=click.Path(file_okay=False, path_type=Path),
    default=pages.ROOT / "build" / "site",
    help="Where the site is built; build/site unless given.",
)
@click.option(
    "--external", "ask", is_flag=True, help="Ask other hosts for the pages that it links."
)
@click.option("--browser", is_flag=True, help="Look at it in Chromium; needs make test before.")
def main(into: Path, ask: bool, browser: bool) -> None:
    """Build, check, and end with 0, 1 if something is wrong, 2 if a tool is missing."""
    npm = shutil.which("npm")
    if npm is None:
        click.echo("make docs needs npm; on Debian or Ubuntu: apt-get install npm", err=True)
        sys.exit(2)
    into = into.resolve()
    source = into.with_name(f"{into.name}-source")
    _stage(source, into)
    kept = into.with_name(f"{into.name}-scripts")
    _scripts(npm, kept, source / "docs" / "assets")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--config-file", str(source / "mkdocs.yml")],
        cwd=pages.ROOT,
        env={"SOURCE_DATE_EPOCH": _date(), "NO_MKDOCS_2_WARNING": "1"} | os.environ,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if built.returncode:
        click.echo(built.stderr, err=True, nl=False)
        sys.exit(1)
    problems = [*check(into), *missed(into)]
    if ask:
        # Those in the repository are files of this checkout.
        own = _repository()
        problems += unreachable([found for found in external(into) if not found.startswith(own)])
    if browser:
        problems += _look(into, kept)
    for problem in problems:
        click.echo(problem, err=True)
    if problems:
        sys.exit(1)
    click.echo(f"{len(list(into.rglob('*.html')))} pages: {into / 'index.html'}")


def _stage(source: Path, into: Path) -> None:
    """Write what MkDocs reads: all pages and pictures in one folder, and the order of the pages."""
    repository = _repository()
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(HERE / "assets", source / "docs" / "assets")
    for page in pages.pages():
        place, text = pages.staged(page, pages.text_of(page), repository)
        if page == pages.DOCUMENT:
            text = text.replace(PDF, f"[{PDF}](format/{PDF})", 1)
        target = source / "docs" / place
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    for file in pages.shown():
        target = source / "docs" / pages.place(file)
        target.parent.mkdir(parents=True, exist_ok=True)
        if file == pages.EXPLORER_FILE:
            text = (pages.ROOT / file).read_bytes().decode("utf-8")
            target.write_bytes(pages.explorer(text).encode("utf-8"))
        else:
            shutil.copyfile(pages.ROOT / file, target)
    try:
        write_pdf(source / "docs" / "format" / PDF, repository)
    except ModuleNotFoundError as missing:
        click.echo(f"the PDF of the format needs {missing.name}; make docs installs it", err=True)
        sys.exit(2)
    settings = {
        "INHERIT": str(HERE / "mkdocs.yml"),
        "docs_dir": "docs",
        "site_dir": str(into),
        "site_url": os.environ.get("KAFKASPEC_SITE", ""),
        "repo_url": repository,
        "nav": pages.placed(pages.navigation()),
        "theme": {"custom_dir": str(HERE / "theme")},
    }
    # JSON is YAML.
    (source / "mkdocs.yml").write_text(json.dumps(settings, indent=1), encoding="utf-8")


def _repository() -> str:
    return os.environ.get("KAFKASPEC_REPOSITORY", REPOSITORY).rstrip("/")


def _scripts(npm: str, kept: Path, into: Path) -> None:
    """Copy the programs that package-lock.json names; npm gets them once for each lock."""
    lock = (HERE / "package-lock.json").read_text(encoding="utf-8")
    done = kept / "package-lock.json"
    if not done.exists() or done.read_text(encoding="utf-8") != lock:
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir(parents=True)
        shutil.copyfile(HERE / "package.json", kept / "package.json")
        done.write_text(lock, encoding="utf-8")
        install = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
        try:
            subprocess.run(install, cwd=kept, check=True, stdout=subprocess.DEVNULL)
        except BaseException:
            done.unlink()
            raise
    for package, (inner, name) in _SCRIPTS.items():
        shutil.copyfile(kept / "node_modules" / package / inner, into / name)


def _date() -> str:
    """Return the time of the commit: the same commit makes the same site."""
    shown = subprocess.run(
        ["git", "log", "-1", "--format=%ct"],
        cwd=pages.ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return shown.stdout.strip() or "0"


def _look(site: Path, scripts: Path) -> list[str]:
    try:
        from tools.site.browser import chromium, look
    except ModuleNotFoundError as missing:
        click.echo(f"--browser needs {missing.name}; make test installs it", err=True)
        sys.exit(2)
    if chromium() is None:
        click.echo("--browser needs Chromium; on Debian: apt-get install chromium", err=True)
        sys.exit(2)
    axe = scripts / "node_modules" / "axe-core" / "axe.min.js"
    return list(look(site, axe, site.with_name(f"{site.name}-pictures")))


if __name__ == "__main__":
    main()
