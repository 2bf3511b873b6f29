"""The file for Kaitai's gallery: the official compiler takes it, and it reads real segments."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

from kafkaspec.log.segment import Segment
from tests.goldens import GOLDEN
from tests.specgen.test_emit_kaitai import compiler_or_skip
from tools import gallery
from tools.specgen.kaitai.emit import compile_specs

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def parser(tmp_path_factory: pytest.TempPathFactory) -> Any:
    compiler_or_skip()
    folder = tmp_path_factory.mktemp("gallery")
    gallery.main(folder)
    targets = ("python", "java", "javascript", "go", "ruby", "csharp", "cpp_stl")
    compile_specs(folder, folder, [word for target in targets for word in ("-t", target)])
    path = folder / "python" / f"{gallery.ID}.py"
    spec = importlib.util.spec_from_file_location(gallery.ID, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_imports_nothing_and_has_no_key_of_ours() -> None:
    text = gallery.specification()
    assert "imports:" not in text
    assert not re.search(r"type: \w+::", text)
    ours = set(re.findall(r"^ +(-[a-z][a-z-]*):", text, re.MULTILINE))
    assert ours == {"-orig-id", "-webide-representation"}


@pytest.mark.parametrize("name", sorted(gallery.SAMPLES))
def test_it_reads_what_brokers_wrote(parser: Any, name: str) -> None:
    path = Path(GOLDEN) / gallery.SAMPLES[name]
    log = parser.KafkaLogSegment.from_file(str(path))
    batches = list(Segment(path).batches())
    assert [entry.base_offset for entry in log.entries] == [
        batch.base_offset if batch.magic == 2 else batch.last_offset for batch in batches
    ]
    assert [entry.message.magic for entry in log.entries] == [batch.magic for batch in batches]
    for entry, batch in zip(log.entries, batches, strict=True):
        if batch.magic == 2 and batch.compression == 0:
            content = entry.message.content
            stream = parser.KaitaiStream(parser.BytesIO(content.records))
            records = parser.KafkaLogSegment.RecordSet(content, stream).records
            assert len(records) == batch.num_records
