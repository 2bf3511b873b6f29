"""The crate ``kafkaspec``: what ``generated/rust`` has, and a reader above it.

Both parts together are a crate that can be published. The reader knows no layout: names, sizes,
numbers and places come from the generated part.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tools.readers import VERSION, semantic_version

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[2]
GENERATED: Final = ROOT / "generated" / "rust"
SPEC: Final = Path("src") / "spec"
"""Where the crate has the generated part."""
_ENTRIES: Final = "entries.rs"
_OWN: Final = ("Cargo.toml", "Cargo.lock", "README.md", "src", "examples", "tests", "fuzz")


def assemble(into: Path, generated: Path = GENERATED) -> list[Path]:
    """Write the crate into a folder, and leave files there alone that do not change.

    Args:
        into: the folder.
        generated: the generated part; tests give that of a draft.

    Returns:
        The files of the crate.

    Raises:
        LookupError: fields that the reader asks for have other names in the specification.
    """
    if not (generated / _ENTRIES).exists():
        raise LookupError(
            f"the generated part has no {_ENTRIES}: if the specification calls a field of an entry "
            "something else, say so in kafkaspec/layout/names.py, and generate again"
        )
    files = {
        path.relative_to(HERE): path
        for name in _OWN
        for path in sorted([HERE / name, *(HERE / name).rglob("*")])
        if path.is_file() and "target" not in path.parts
    }
    files |= {SPEC / path.name: path for path in sorted(generated.glob("*.rs"))}
    files[Path("LICENSE")] = ROOT / "LICENSE"
    for old in sorted((into / SPEC).glob("*.rs")):
        if SPEC / old.name not in files:
            old.unlink()
    version = semantic_version().encode()
    for name, path in files.items():
        _write(into / name, path.read_bytes().replace(VERSION.encode(), version))
    return [into / name for name in files]


def _write(path: Path, content: bytes) -> None:
    if path.exists() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
