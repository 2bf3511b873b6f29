"""Generate code, documentation and test vectors in generated/ from the specification in spec/.

Without an option, check the specification, write the files that changed, and rebuild the native
extension. The exit code is 1 if something is wrong, and 2 if --check could not check everything
because Java or Maven is missing.
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
    from tools.specgen.document import SpecError
    from tools.specgen.house import TARGETS, house_of
    from tools.specgen.kaitai.emit import CompilerMissing
    from tools.specgen.lint.docs import UNWRITTEN
    from tools.specgen.lint.rules import lint
    from tools.specgen.loader import load
except ModuleNotFoundError as missing:
    sys.exit(f"this Python has no module {missing.name}; run: make generate")

SPEC, OUTPUT = ROOT / "spec", ROOT / "generated"


def _report(differences: list[driver.Difference], spec: Path, output: Path) -> int:
    names = "generated", "spec"
    repair = "python tools/codegen.py"
    if (spec, output) != (SPEC, OUTPUT):
        names = output.name, spec.name
        repair += f" --spec {spec} --out {output}"
    for difference in differences:
        click.echo(f"{names[0]}/{difference.path}: {difference.what}", err=True)
    if differences:
        click.echo(f"{names[0]}/ does not match {names[1]}/; repair it with: {repair}", err=True)
    return 1 if differences else 0


def _lint(spec: Path, unwritten: bool) -> int:
    problems = [p for p in lint(load(spec)) if not (unwritten and UNWRITTEN in p.message)]
    for problem in problems:
        click.echo(f"{problem.location}: {problem.rule}: {problem.message}", err=True)
    return 1 if problems else 0


@click.command(help=__doc__)
@click.option("--check", is_flag=True, help="Write nothing; fail if a file would change.")
@click.option(
    "--check-hash",
    is_flag=True,
    help="Write nothing; fail if a file was made from another specification. Needs no Java.",
)
@click.option("--lint", "lint_only", is_flag=True, help="Check the specification only.")
@click.option("--unwritten", is_flag=True, help="Let sentences pass that begin with TODO.")
@click.option(
    "--only",
    "targets",
    multiple=True,
    type=click.Choice(TARGETS),
    help="Generate this target only; may be repeated.",
)
@click.option(
    "--spec",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    default=SPEC,
    help="Directory of the .ksy files, and of house.yaml if there is one; by default spec/.",
)
@click.option(
    "--out",
    "--output",
    "output",
    type=click.Path(path_type=Path, file_okay=False),
    default=OUTPUT,
    help="Directory of the generated files, by default generated/.",
)
def main(
    check: bool,
    check_hash: bool,
    lint_only: bool,
    unwritten: bool,
    targets: tuple[str, ...],
    spec: Path,
    output: Path,
) -> None:
    if check + check_hash + lint_only > 1:
        raise click.UsageError("choose one of --check, --check-hash and --lint")
    try:
        if (failed := _lint(spec, unwritten)) or lint_only:
            sys.exit(failed)
        if check_hash:
            sys.exit(_report(driver.check_hashes(spec, output), spec, output))
        if not check and driver.is_foreign(output):
            sys.exit(f"{output} has files that the generator did not make; name an empty folder")
        wanted = targets or driver.targets_of(house_of(spec))
        sys.exit(_generate(check, wanted, spec, output))
    except (SpecError, driver.FormatterMissing) as error:
        sys.exit(str(error))
    except OSError as error:
        sys.exit(f"{error.filename}: {error.strerror}")


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
            return _report(driver.compare(fresh, output, targets), spec, output)
        for line in driver.write(fresh, output, targets) or ["unchanged"]:
            click.echo(line)
        return _rebuild() if output == OUTPUT else 0

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
