"""kafkaspec for the workers of a cluster: an archive of an environment, and no zip of modules."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from kafkaspec.cli.main import main
from kafkaspec.spark.archive import write_archive
from tests.spark.archives import PACKAGE, environment, modules

USE = """
import sys, kafkaspec, kafkaspec.spark
import kafkaspec.codecs.native.core as core
print(core.load_core() is not None, sys.prefix)
"""


def run(python: str | Path, *path: str) -> subprocess.CompletedProcess[str]:
    hidden = ("PYTHONPATH", "KAFKASPEC_CODEC")
    environment = {key: value for key, value in os.environ.items() if key not in hidden}
    environment["PYTHONPATH"] = os.pathsep.join(path)
    command = [str(python), "-S", "-c", USE] if path else [str(python), "-c", USE]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, cwd="/"
    )


@pytest.fixture(name="environment")
def _environment(tmp_path: Path) -> Path:
    """An environment as pip makes it; pyarrow is not needed to import kafkaspec."""
    root = tmp_path / "environment"
    site = environment(root)
    (site / "pyarrow").mkdir()
    (site / "pyarrow" / "__init__.py").touch()
    (site / "pyspark" / "jars").mkdir(parents=True)
    (site / "pyspark" / "jars" / "spark.jar").touch()
    return root


def test_an_archive_of_an_environment_works_elsewhere(environment: Path, tmp_path: Path) -> None:
    file = tmp_path / "env.tar.gz"
    assert write_archive(file, environment) == file.stat().st_size
    shutil.rmtree(environment)
    place = tmp_path / "worker" / "env"
    with tarfile.open(file) as archive:
        left_out = (".pyc", "__pycache__", ".jar")
        assert not [name for name in archive.getnames() if name.endswith(left_out)]
        archive.extractall(place, filter="fully_trusted")
    done = run(place / "bin" / "python")
    assert done.stdout == f"True {place}\n", done.stderr


def test_what_is_no_environment_for_others_is_refused(environment: Path, tmp_path: Path) -> None:
    for file, prefix, text in (
        (tmp_path / "env.zip", environment, "the name ends with"),
        (environment / "env.tgz", environment, "is in the environment"),
        (tmp_path / "env.tgz", PACKAGE, "is not a virtual environment"),
    ):
        with pytest.raises(ValueError, match=text):
            write_archive(file, prefix)
        assert not file.exists()
    (package,) = environment.glob("lib/python3*/site-packages/kafkaspec")
    package.rename(tmp_path / "elsewhere")
    with pytest.raises(ValueError, match="not as an editable installation"):
        write_archive(tmp_path / "env.tgz", environment)
    kept = tmp_path / "kept.tgz"
    kept.write_bytes(b"mine")
    done = CliRunner().invoke(main, ["spark", "--archive", str(kept)])
    assert (done.exit_code, kept.read_bytes()) == (2, b"mine")
    assert "kept.tgz exists" in done.output


def test_an_archive_appears_when_it_is_complete(
    environment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "env.tgz"

    def fail(*_: object, **__: object) -> None:
        file.write_bytes(b"of another run")
        raise OSError

    monkeypatch.setattr(tarfile.TarFile, "add", fail)
    with pytest.raises(OSError):  # noqa: PT011  # the one from above
        write_archive(file, environment)
    assert file.read_bytes() == b"of another run"
    assert {item.name for item in tmp_path.iterdir()} == {"env.tgz", "environment"}


def test_a_zip_of_modules_names_what_works(tmp_path: Path) -> None:
    """As ``spark-submit --py-files`` puts it on the path of workers."""
    file = tmp_path / "kafkaspec.zip"
    with zipfile.ZipFile(file, "w") as archive:
        for path, name in modules():
            archive.write(path, name)
    done = run(sys.executable, str(file))
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: ")
    assert str(file) in last
    assert "kafkaspec spark --archive FILE" in last
