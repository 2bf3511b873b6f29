"""Makes ``generated/`` from ``spec/``.

python tools/codegen.py               write what changed
python tools/codegen.py --check       regenerate aside; fail if anything differs
python tools/codegen.py --check-hash  compare headers only; needs no Java
python tools/codegen.py --lint        check the specification only
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

try:
    import click

    from tools.native.build import BuildError, NoCompilerError, rebuild
    from tools.specgen import driver
    from tools.specgen.kaitai.emit import CompilerMissing
    from tools.specgen.lint.rules import lint
    from tools.specgen.loader import SpecError, load
except ModuleNotFoundError as missing:
    sys.exit(f"this Python has no module {missing.name}; run: make generate")

REPAIR = "python tools/codegen.py"


def _report(differences: list[driver.Difference]) -> int:
    for difference in differences:
        click.echo(f"generated/{difference.path}: {difference.what}", err=True)
    if differences:
        click.echo(f"generated/ is not what spec/ says; repair it with: {REPAIR}", err=True)
    return 1 if differences else 0


def _lint(spec: Path) -> int:
    problems = lint(load(spec))
    for problem in problems:
        click.echo(f"{problem.location}: {problem.rule}: {problem.message}", err=True)
    return 1 if problems else 0


@click.command(help=__doc__)
@click.option("--check", is_flag=True, help="Regenerate aside and fail on a difference.")
@click.option("--check-hash", is_flag=True, help="Compare the headers only; needs no Java.")
@click.option("--lint", "lint_only", is_flag=True, help="Check the specification only.")
@click.option(
    "--only",
    "targets",
    multiple=True,
    type=click.Choice(driver.TARGETS),
    help="Limit the work to this target; may be repeated.",
)
@click.option("--spec", type=click.Path(path_type=Path, exists=True), default=ROOT / "spec")
@click.option("--output", type=click.Path(path_type=Path), default=ROOT / "generated")
def main(
    check: bool,
    check_hash: bool,
    lint_only: bool,
    targets: tuple[str, ...],
    spec: Path,
    output: Path,
) -> None:
    try:
        if (failed := _lint(spec)) or lint_only:
            sys.exit(failed)
        if check_hash:
            sys.exit(_report(driver.check_hashes(spec, output)))
        sys.exit(_generate(check, targets or driver.TARGETS, spec, output))
    except (SpecError, driver.FormatterMissing) as error:
        click.echo(str(error), err=True)
        sys.exit(1)


def _rebuild() -> int:
    """Bring the extension up to date; 1 where the generated C does not compile."""
    try:
        if rebuild():
            click.echo("rebuilt the extension kafkaspec._native")
    except NoCompilerError as error:
        click.echo(f"{error}; the extension kafkaspec._native is not rebuilt", err=True)
        return 1 if os.environ.get("CI") == "true" else 0
    except BuildError as error:
        click.echo(f"{error}\nthe C in generated/native does not compile", err=True)
        return 1
    return 0


def _generate(check: bool, targets: tuple[str, ...], spec: Path, output: Path) -> int:
    def use(fresh: dict[str, Path]) -> int:
        if check:
            return _report(driver.compare(fresh, output, targets))
        for line in driver.write(fresh, output, targets) or ["unchanged"]:
            click.echo(line)
        return _rebuild() if output == ROOT / "generated" else 0

    try:
        return driver.run_in_temporary(spec, targets, use)
    except CompilerMissing as error:
        if os.environ.get("CI") == "true":
            click.echo(f"{error}; with CI=true this is a failure", err=True)
            return 1
        rest = tuple(target for target in targets if target != "kaitai")
        click.echo(f"{error}; target kaitai is left out", err=True)
        return driver.run_in_temporary(spec, rest, use) or (2 if check else 0)


if __name__ == "__main__":
    main()
