"""The options of the data source as Python names them, with their types."""

from __future__ import annotations

import subprocess
import sys
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

pytest.importorskip("pyspark")

import kafkaspec.spark
from kafkaspec.spark import jobs, options, write_options
from kafkaspec.spark.named import Flag, ReadNames, WriteNames
from kafkaspec.spark.parsing import OptionError

NO_SESSION: Any = None
"""Options are checked before anything is asked of it."""


def test_all_options_of_the_data_source_have_types() -> None:
    known = {name.replace(".", "_") for name in options._KNOWN.values()} - {"path", "paths"}
    assert get_type_hints(ReadNames).keys() == known
    assert get_type_hints(WriteNames).keys() == write_options._TABLE.keys() - {"path"}


def words(names: Any) -> list[tuple[str, str]]:
    """The words of each option that takes no others."""
    found = get_type_hints(names).items()
    return [
        (name, word)
        for name, kind in found
        if get_origin(kind) is Literal or kind == Flag
        for part in (kind, *get_args(kind))
        for word in get_args(part)
        if isinstance(word, str)
    ]


@pytest.mark.parametrize(("name", "word"), words(ReadNames))
def test_the_words_of_an_option_of_a_read_are_those_of_its_type(name: str, word: str) -> None:
    given = {"path": "x", options.DOTTED.get(name, name): word}
    options.read_options(given, streaming=None)
    wrong: Any = {name: word + "x"}
    with pytest.raises(OptionError, match=f"^option {options.DOTTED.get(name, name)} is one of "):
        kafkaspec.spark.read(NO_SESSION, "x", **wrong)


@pytest.mark.parametrize(("name", "word"), words(WriteNames))
def test_the_words_of_an_option_of_a_write_are_those_of_its_type(name: str, word: str) -> None:
    write_options.parse_write_options({"path": "x", name: word})
    wrong: Any = {name: word + "x"}
    with pytest.raises(OptionError, match=f"^option {name} is one of "):
        kafkaspec.spark.write(NO_SESSION, "x", **wrong)


def test_an_unknown_option_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(OptionError, match=r"no option includeheader .*did you mean 'includeHead"):
        kafkaspec.spark.read(NO_SESSION, "x", includeHeader=True)  # type: ignore[call-arg]
    with pytest.raises(OptionError, match=r"no option 'segmentbyte' .*did you mean 'segmentBytes'"):
        kafkaspec.spark.write(NO_SESSION, "x", segmentByte=1)  # type: ignore[call-arg]


def test_jobs_load_when_they_are_named() -> None:
    code = (
        "import sys; from kafkaspec.spark import jobs; assert 'verify' in dir(jobs);"
        "assert 'pyspark' not in sys.modules; print(*(getattr(jobs, name) for name in dir(jobs)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.count("<module 'kafkaspec.spark.jobs.") == len(dir(jobs)) == 5
    assert kafkaspec.spark.jobs is jobs
    with pytest.raises(AttributeError, match=r"'kafkaspec\.spark\.jobs' has no attribute 'none'"):
        _ = jobs.none
