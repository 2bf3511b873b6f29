"""Build the explorer: ``python -m tools.explorer.build``.

It needs Java and Maven for the official compiler, and Node.js with npm for the rest. All of it is
made below ``explorer/gen`` and ``build/explorer``, which are not checked in; the page alone is, in
``generated/explorer``, so that a wheel has it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

from kafkaspec._generated.layout import LAYOUTS
from tools.alone import alone_in
from tools.brokers.maven import find_tool
from tools.explorer.facts import ROOT, SPEC, facts, value_functions
from tools.explorer.samples import RELEASE, samples
from tools.explorer.walkers import walkers
from tools.specgen.kaitai.emit import compile_specs
from tools.specgen.model import camel

HOME = ROOT / "explorer"
GENERATED = HOME / "gen"
BUILT = ROOT / "build" / "explorer"
PAGE = ROOT / "generated" / "explorer" / "explorer.html"
"""What `kafkaspec explore` serves, and the wheel has."""
_JAVASCRIPT = ("-t", "javascript", "--debug")
"""With positions of fields, and without reading in the constructor: of damaged data that is what
was read."""


def generate(into: Path = GENERATED) -> None:
    """Write what the explorer knows of the specification, unless it is there and current."""
    made, values = _facts(), value_functions()
    wanted = _inputs()
    stamp = into / "stamp"
    if stamp.is_file() and stamp.read_text("utf-8") == wanted:
        return
    shutil.rmtree(into, ignore_errors=True)
    (into / "kaitai").mkdir(parents=True)
    compile_specs(SPEC, into / "kaitai", _JAVASCRIPT)
    (into / "kaitai" / "package.json").write_text('{ "type": "commonjs" }\n', "utf-8")
    (into / "facts.json").write_text(made, "utf-8")
    (into / "values.ts").write_text(values, "utf-8")
    (into / "walkers.ts").write_text(walkers(), "utf-8")
    (into / "samples.json").write_text(_samples(), "utf-8")
    (into / "classes.ts").write_text(_classes(), "utf-8")
    stamp.write_text(wanted, "utf-8")


def _facts() -> str:
    return json.dumps(facts(), ensure_ascii=False, separators=(",", ":"), sort_keys=False)


def _samples() -> str:
    return json.dumps({"release": RELEASE, **samples()}, sort_keys=True)


def _inputs() -> str:
    """Return the hash of what the explorer knows of the specification, and of its files."""
    made = (_facts(), value_functions(), walkers(), _samples(), Path(__file__).read_text("utf-8"))
    inputs = hashlib.sha256("\n".join(made).encode())
    for path in sorted(SPEC.rglob("*.ksy")):
        inputs.update(path.read_bytes())
    return inputs.hexdigest()


def sources() -> str:
    """Return the hash of all that the page is made from, which stands in its first line."""
    found = hashlib.sha256(_inputs().encode())
    for path in sorted(
        [*(HOME / "src").rglob("*.*"), *HOME.glob("*.mjs"), *HOME.glob("*.json")],
        key=lambda path: path.as_posix(),
    ):
        text = path.read_text("utf-8")
        found.update(f"{path.relative_to(HOME).as_posix()}\n{text}\n".encode())
    return found.hexdigest()


def _classes() -> str:
    """Return a module with the class of each type by its key."""
    specs = sorted({key.partition(".")[0] for key in LAYOUTS})
    lines = ["// @ts-nocheck"]
    lines += [f"import * as {camel(spec)} from './kaitai/{camel(spec)}.js';" for spec in specs]
    lines += ["export const CLASSES = {"]
    for key in sorted(LAYOUTS):
        spec, _, name = key.partition(".")
        inner = "" if spec == name else f".{camel(name)}"
        lines.append(f"  '{key}': {camel(spec)}.{camel(spec)}{inner},")
    return "\n".join([*lines, "};", ""])


def packages() -> None:
    """Install the locked packages, unless they are there."""
    lock, stamp = HOME / "package-lock.json", HOME / "node_modules" / ".kafkaspec"
    wanted = hashlib.sha256(lock.read_bytes()).hexdigest()
    if stamp.is_file() and stamp.read_text("utf-8") == wanted:
        return
    npm = find_tool("npm", "npm")
    subprocess.run([npm, "ci", "--silent", "--no-audit", "--no-fund"], cwd=HOME, check=True)
    stamp.write_text(wanted, "utf-8")


def bundle() -> None:
    """Bundle the engine, and the page where it is, unless that is done."""
    stamp, wanted = BUILT / "stamp", sources()
    if stamp.is_file() and stamp.read_text("utf-8") == wanted:
        return
    node = find_tool("node", "Node.js")
    subprocess.run([node, "build.mjs", str(BUILT)], cwd=HOME, check=True)
    info = f"Sources: sha256 {wanted}."
    subprocess.run([node, "html.mjs", str(BUILT), info], cwd=HOME, check=True)
    stamp.write_text(wanted, "utf-8")


def check_types() -> None:
    """Check the types of all TypeScript."""
    tsc = HOME / "node_modules" / ".bin" / "tsc"
    subprocess.run([str(tsc), "--noEmit"], cwd=HOME, check=True)


def build() -> Path:
    """Build everything and return the folder with it. Processes wait for each other."""
    with alone_in(BUILT):
        generate()
        packages()
        bundle()
    return BUILT


def main() -> None:
    """Build, and with ``--check`` check types too."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="check types too")
    parser.add_argument("--same", action="store_true", help="fail if generated/ has another page")
    arguments = parser.parse_args()
    made = (build() / PAGE.name).read_text("utf-8")
    if arguments.check:
        check_types()
    if arguments.same and PAGE.read_text("utf-8") != made:
        sys.exit(f"{PAGE.relative_to(ROOT)} is not what make explorer makes")
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(made, "utf-8")


if __name__ == "__main__":
    main()
