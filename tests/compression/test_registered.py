"""Libraries of codecs that installed packages have."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkaspec.compression.registered import GROUP, registered
from kafkaspec.errors import UnsupportedError


@pytest.mark.parametrize("target", ["no.such.module", "math", "math:nothing"])
def test_a_package_that_is_broken_is_named(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "broken-1.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    (package / "entry_points.txt").write_text(f"[{GROUP}]\nbrotli = {target}\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UnsupportedError, match="the entry point brotli of the group"):
        registered("brotli")
