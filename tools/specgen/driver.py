"""Run all emitters, add headers, format, and compare with or update the checked-in files."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path, PurePosixPath

from tools.specgen.house import TARGETS, House
from tools.specgen.loader import load
from tools.specgen.model import Model, Spec
from tools.specgen.output import Output

GENERATOR_VERSION = "1"
"""Version of the generator; raise it when a change of the generator changes its output."""

OTHERS = ("explorer", "schemas")
"""Folders that the generator does not make: ``tools.explorer.build`` and ``tools.outputs`` do."""
OPEN = ("python", "construct", "docs", "vectors", "native")
"""Targets where no house says which; each serves any format."""

_COMMENT = {
    ".py": "# {}",
    ".c": "/* {} */",
    ".h": "/* {} */",
    ".md": "<!-- {} -->",
    ".lua": "-- {}",
    ".hexpat": "// {}",
    ".rs": "// {}",
    ".go": "// {}",
}
_UNFORMATTED = ("kaitai/",)


class FormatterMissing(Exception):  # noqa: N818 - it is a state of the machine, not of the data
    """Generated Python cannot be formatted here; the message says what to do."""


@dataclass(frozen=True)
class Difference:
    """A file that differs from what the generator writes."""

    path: str
    what: str


PACKAGE = Path(__file__).with_name("python") / "package.txt"
"""What a generated package offers where no library stands above it."""


def emitters(targets: Iterable[str] = TARGETS) -> dict[str, Callable[..., list[Output]]]:
    """Return the ``emit`` function of each target."""
    return {name: import_module(f"tools.specgen.{name}.emit").emit for name in targets}


def spec_hashes(directory: Path, model: Model) -> dict[str, str]:
    """Return the SHA-256 of each file of the specification, by id."""
    return {
        spec.id: hashlib.sha256((directory / spec.file_name).read_bytes()).hexdigest()
        for spec in model.specs
    }


def _closure(output: Output, model: Model) -> list[Spec]:
    ids = {spec.id for source in output.sources for spec in model.closure(source)}
    return [spec for spec in model.specs if spec.id in ids]


def _digest(output: Output, model: Model, hashes: dict[str, str]) -> str:
    joined = "".join(hashes[spec.id] for spec in _closure(output, model))
    return hashlib.sha256(joined.encode()).hexdigest()


def targets_of(house: House) -> tuple[str, ...]:
    """Return the targets that are generated unless a command says otherwise."""
    return house.targets or OPEN


def header(output: Output, model: Model, hashes: dict[str, str]) -> list[str]:
    """Return the lines that open a generated file: no date, no path of a machine."""
    return [
        model.house.first_line,
        f"Source: {', '.join(_sources(_closure(output, model), model))}",
        f"Spec: sha256 {_digest(output, model, hashes)}; generator {GENERATOR_VERSION}",
    ]


def _sources(specs: Iterable[Spec], model: Model) -> list[str]:
    """Return the paths of files, and that of a folder, with a slash, for all of its files."""
    given = [PurePosixPath(spec.file_name) for spec in specs]
    others = {PurePosixPath(spec.file_name) for spec in model.specs} - set(given)
    partly = {path.parent for path in others} | {PurePosixPath()}
    return list(
        dict.fromkeys(
            f"spec/{path}" if path.parent in partly else f"spec/{path.parent}/" for path in given
        )
    )


def _ids(sources: str, model: Model) -> Iterator[str]:
    """Yield the ids of the files that ``_sources`` has named."""
    for part in sources.split(", "):
        if part.endswith("/"):
            yield from (
                spec.id
                for spec in model.specs
                if f"spec/{PurePosixPath(spec.file_name).parent}/" == part
            )
        else:
            yield PurePosixPath(part).stem


def generate(
    spec_directory: Path,
    into: Path,
    targets: Iterable[str] | None = None,
    house: House | None = None,
) -> dict[str, Path]:
    """Write everything into an empty directory; return the files by relative path.

    Args:
        spec_directory: the specification.
        into: the directory.
        targets: emitters, by default those of the house.
        house: options in place of those in the folder of the specification.
    """
    model = load(spec_directory, house)
    chosen = set(targets_of(model.house) if targets is None else targets)
    if not model.house.library and chosen & {"native", "construct"}:
        chosen.add("python")  # which has their errors
    targets = tuple(target for target in TARGETS if target in chosen)
    hashes = spec_hashes(spec_directory, model)
    # The official compiler reads the files itself; everyone else sees the model only.
    outputs = [
        output
        for name, emit in emitters(targets).items()
        for output in (emit(model, spec_directory) if name == "kaitai" else emit(model))
    ]
    if model.house.library:
        text = '"""Code that tools/codegen.py makes from spec/: see CONTRIBUTING.md."""\n'
    else:
        text = PACKAGE.read_text(encoding="utf-8")
    outputs.append(Output("__init__.py", tuple(spec.id for spec in model.specs), text))
    for output in outputs:
        path = into / output.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_with_header(output, model, hashes), encoding="utf-8")
    for folder in {p for o in outputs for p in (into / o.path).parents if into in p.parents}:
        init = folder / "__init__.py"
        if any(folder.rglob("*.py")) and not init.exists():
            init.write_text(f"# {model.house.first_line}\n", encoding="utf-8")
    _format(into)
    return {str(path.relative_to(into)): path for path in sorted(into.rglob("*")) if path.is_file()}


def _with_header(output: Output, model: Model, hashes: dict[str, str]) -> str:
    comment = _COMMENT.get(Path(output.path).suffix)
    if comment is None:
        return output.text
    head = "\n".join(comment.format(line) for line in header(output, model, hashes))
    text = output.text.replace("@SPECIFICATION@", _digest(output, model, hashes))
    return f"{head}\n\n{text.lstrip()}"


def _format(directory: Path) -> None:
    beside = Path(sys.executable).with_name("ruff")
    ruff = str(beside) if beside.exists() else shutil.which("ruff")
    if ruff is None:
        raise FormatterMissing(
            "there is no ruff beside this Python or on the PATH; run: make generate"
        )
    config = Path(__file__).resolve().parents[2] / "pyproject.toml"
    paths = [
        str(path)
        for path in sorted(directory.rglob("*.py"))
        if not str(path.relative_to(directory)).startswith(_UNFORMATTED)
    ]
    fix = ["check", "--fix-only", "--select"]
    # Unused imports go first, since a long line of imports is wrapped for good.
    for action in ([*fix, "F401"], [*fix, "I"], ["format"]):
        subprocess.run(
            [ruff, *action, "--quiet", "--no-cache", "--config", str(config), *paths], check=True
        )


def compare(fresh: dict[str, Path], checked_in: Path, targets: Iterable[str]) -> list[Difference]:
    """Return the differences between the checked-in tree and a new one."""
    differences = []
    for name, path in fresh.items():
        target = checked_in / name
        if not target.exists():
            differences.append(Difference(name, "missing"))
        elif target.read_bytes() != path.read_bytes():
            differences.append(Difference(name, "differs"))
    differences += [Difference(name, "stale") for name in stale(fresh, checked_in, targets)]
    return sorted(differences, key=lambda difference: difference.path)


def stale(fresh: dict[str, Path], checked_in: Path, targets: Iterable[str]) -> list[str]:
    """Return files and folders of the checked-in tree that no target makes; folders end in a slash.

    Folders of targets that were not chosen are skipped, and those of ``OTHERS``.
    """
    skipped = {*TARGETS, *OTHERS} - set(targets)
    wanted = set(fresh) | {str(parent) for name in fresh for parent in Path(name).parents}
    found = []
    for path in sorted(checked_in.rglob("*")):
        name = path.relative_to(checked_in)
        if name.parts[0] in skipped or str(name) in wanted:
            continue
        if name.parts[:-1] == ("native",) and name.name.startswith("_core."):
            continue  # the extension, which its user compiles
        if "__pycache__" in name.parts:
            home = Path(*name.parts[: name.parts.index("__pycache__")])
            if str(home) in wanted:
                continue
        found.append(f"{name}/" if path.is_dir() and not path.is_symlink() else str(name))
    return found


def write(fresh: dict[str, Path], checked_in: Path, targets: Iterable[str]) -> list[str]:
    """Update the checked-in tree, leave unchanged files alone, and return a report."""
    report = []
    for name, path in fresh.items():
        target = checked_in / name
        content = path.read_bytes()
        if target.exists() and target.read_bytes() == content:
            continue
        report.append(f"{'updated' if target.exists() else 'new'} {name}")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    for name in reversed(stale(fresh, checked_in, targets)):
        report.append(f"removed {name}")
        if name.endswith("/"):
            (checked_in / name).rmdir()
        else:
            (checked_in / name).unlink()
    return report


def is_foreign(directory: Path) -> bool:
    """Return whether a folder has files and none of them says that the generator made it.

    ``write`` would remove them.
    """
    if not directory.exists() or not any(directory.iterdir()):
        return False
    first = directory / "__init__.py"
    head = first.read_text(encoding="utf-8").partition("\n")[0] if first.exists() else ""
    return "Code generated by" not in head


def check_hashes(spec_directory: Path, checked_in: Path) -> list[Difference]:
    """Return files whose header names another specification; needs no Java and no emitter."""
    model = load(spec_directory)
    hashes = spec_hashes(spec_directory, model)
    differences = []
    for path in sorted(checked_in.rglob("*")):
        comment = _COMMENT.get(path.suffix)
        if comment is None or not path.is_file() or "__pycache__" in path.parts:
            continue
        name = str(path.relative_to(checked_in))
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()[:3]
        if not lines or model.house.first_line not in lines[0]:
            differences.append(Difference(name, "no header"))
            continue
        if len(lines) < 3 or not lines[1].startswith(comment.split("{}")[0] + "Source: "):
            continue
        sources = tuple(
            _ids(lines[1].split("Source: ")[1].removesuffix(comment.split("{}")[1]), model)
        )
        if set(sources) - set(hashes):
            differences.append(Difference(name, "source is gone"))
            continue
        expected = header(Output(name, sources, ""), model, hashes)
        if lines != [comment.format(line) for line in expected]:
            differences.append(Difference(name, "made from another specification"))
    return differences


def run_in_temporary(
    spec_directory: Path, targets: Iterable[str], use: Callable[[dict[str, Path]], int]
) -> int:
    """Generate into a temporary directory and pass the files to ``use``."""
    with tempfile.TemporaryDirectory(prefix="codegen-") as directory:
        return use(generate(spec_directory, Path(directory), targets))
