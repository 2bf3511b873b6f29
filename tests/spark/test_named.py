"""The options of the data source as Python names them, with their types."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

pytest.importorskip("pyspark")

import kafkaspec.spark
from kafkaspec.options import options_of
from kafkaspec.spark import jobs, options, write_options
from kafkaspec.spark.named import Flag, ReadNames, WriteNames
from kafkaspec.spark.options import ReadOptions
from kafkaspec.spark.parsing import OptionError

NO_SESSION: Any = None
"""Options are checked before anything is asked of it."""


OF_SEVERAL = {"paths", "columns", "start", "end", "typed"}
"""Attributes that more than one option decides, or none, or what is an argument in Python."""


def test_all_options_of_the_data_source_have_types() -> None:
    assert options_of(ReadNames).keys() == get_type_hints(ReadNames).keys()
    attributes = {attribute for attribute, _ in options._TABLE.values()}
    assert attributes == {each.name for each in fields(ReadOptions)} - OF_SEVERAL
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
    given = {"path": "x", name.replace("_", "."): word}
    options.read_options(given, streaming=None)
    wrong: Any = {name: word + "x"}
    with pytest.raises(OptionError, match=f"^option {name.replace('_', '.')} is one of "):
        kafkaspec.spark.read(NO_SESSION, "x", **wrong)


@pytest.mark.parametrize(("name", "word"), words(WriteNames))
def test_the_words_of_an_option_of_a_write_are_those_of_its_type(name: str, word: str) -> None:
    write_options.parse_write_options({"path": "x", name: word})
    wrong: Any = {name: word + "x"}
    with pytest.raises(OptionError, match=f"^option {name} is one of "):
        kafkaspec.spark.write(NO_SESSION, "x", **wrong)


@pytest.mark.parametrize(
    ("old", "new", "value"),
    [("value.errors", "onValueError", "skip"), ("value.depth", "depth", "2"),
     ("value.enums", "enums", "int")],
)  # fmt: skip
def test_a_former_name_does_the_same_and_warns(old: str, new: str, value: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"option {old} .* {new}"):
        before = options.read_options({"path": "x", old: value})
    assert before == options.read_options({"path": "x", new: value})
    assert before != options.read_options({"path": "x"})


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
    assert done.stdout.count("<module 'kafkaspec.spark.jobs.") == len(dir(jobs)) > 4
    assert kafkaspec.spark.jobs is jobs
    with pytest.raises(AttributeError, match=r"'kafkaspec\.spark\.jobs' has no attribute 'none'"):
        _ = jobs.none
