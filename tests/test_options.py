"""Words and names of options: an unknown one is an error, never a default."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from inspect import Parameter, isclass, isfunction, signature
from pathlib import Path
from typing import Any, Literal, Unpack, get_args, get_origin, get_type_hints, is_typeddict

import pyarrow as pa
import pytest

import kafkaspec as ks
from kafkaspec.arrow.schema import Request, RequestOptions
from kafkaspec.arrow.where.condition import Where
from kafkaspec.conversion.choices import Choices
from kafkaspec.conversion.options import ChoiceOptions
from kafkaspec.forensics.salvage import salvage
from kafkaspec.forensics.salvage.running import SalvageOptions
from kafkaspec.log.encoding import EncodeOptions
from kafkaspec.log.entries import Entries
from kafkaspec.log.options import FindOptions, RecordOptions, SegmentOptions
from kafkaspec.log.selection import Selection
from kafkaspec.options import FORMER_WORDS
from kafkaspec.spark import jobs
from kafkaspec.state.cluster import read_cluster
from kafkaspec.times import Time

ROOT = Path(__file__).parents[1]
WRONG = "no-such-word"
IMPORTED = re.compile(r"^(?:>>> )?from (kafkaspec[\w.]*) import (.+)$", re.MULTILINE)


MODULES = (
    "kafkaspec.spark", *(f"kafkaspec.spark.jobs.{name}" for name in jobs.__all__),
    "kafkaspec.arrow.messages", "kafkaspec.conformance",
)  # fmt: skip
"""Public modules beside the top level, as docs/api/ and docs/stability.md have them."""
SPARK = "kafkaspec.spark"
"""Its data source checks its options itself: ``tests/spark/test_named.py``."""


def exported(name: str) -> Iterator[tuple[str, Any]]:
    try:
        module = import_module(name)
    except ImportError:  # without Spark
        return
    listed = getattr(module, "__all__", None)
    for each in vars(module) if listed is None else listed:
        value = getattr(module, each)
        home = getattr(value, "__module__", "")
        own = home == name if listed is None else home.startswith("kafkaspec")
        if own and not each.startswith("_"):
            yield each, value


def public() -> dict[str, Callable[..., Any]]:
    """Return what is public: the names of public modules, and functions that pages import."""
    found: dict[str, Callable[..., Any]] = {}
    values = {f"ks.{name}": getattr(ks, name) for name in ks.__all__}
    for module in MODULES:
        values |= {f"{module}.{name}": value for name, value in exported(module)}
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        for module, names in IMPORTED.findall(page.read_text(encoding="utf-8")):
            for name in re.findall(r"\w+", re.sub(r"#.*| as \w+", "", names)):
                values[f"{module}.{name}"] = getattr(import_module(module), name)
    for name, value in values.items():
        if isfunction(value):
            found[name] = value
        elif isclass(value):
            if value is not ks.Found:  # what nobody makes but this library
                found[name] = value
            for member in dir(value):
                function = getattr(value, member)
                abstract = getattr(function, "__isabstractmethod__", False)
                if not member.startswith("_") and isfunction(function) and not abstract:
                    found[f"{name}.{member}"] = function
    return found


def words(annotation: Any) -> set[Any]:
    """Return the words of an annotation; none where any text is taken."""
    if get_origin(annotation) is Literal:
        return set(get_args(annotation))
    inner = get_args(annotation)
    return set() if str in inner else {word for part in inner for word in words(part)}


def enumerated(function: Callable[..., Any]) -> Iterator[tuple[str, set[Any]]]:
    """Yield the options of a function that have words, and these."""
    target: Any = function.__init__ if isclass(function) else function
    space = vars(sys.modules[function.__module__])
    for parameter in signature(target).parameters.values():
        annotation = parameter.annotation
        if isinstance(annotation, str):
            try:
                annotation = eval(annotation, dict(space))
            except NameError:  # only type checkers import it
                assert "Literal" not in annotation, f"{function}: {annotation}"
                continue
        if parameter.kind is Parameter.VAR_KEYWORD and get_origin(annotation) is Unpack:
            inner = get_args(annotation)[0]
            if is_typeddict(inner) and not function.__module__.startswith(SPARK):
                for name, kind in get_type_hints(inner).items():
                    if words(kind):
                        yield name, words(kind)
        elif words(annotation):
            yield parameter.name, words(annotation)


def option_names(function: Callable[..., Any]) -> Iterator[str]:
    """Yield the names of what a function takes by name alone."""
    target: Any = function.__init__ if isclass(function) else function
    if not (getattr(target, "__module__", None) or "").startswith("kafkaspec"):
        return  # of an enumeration
    for parameter in signature(target).parameters.values():
        if parameter.kind is Parameter.VAR_KEYWORD:
            space = dict(vars(sys.modules[function.__module__]))
            yield from get_type_hints(get_args(eval(str(parameter.annotation), space))[0])
        elif parameter.kind is Parameter.KEYWORD_ONLY:
            yield parameter.name


def misspelled() -> tuple[str, dict[int, str]]:
    """Return a program that misspells every option of what is public, and each word by its line."""
    lines: list[str] = []
    typos: dict[int, str] = {}
    for number, (name, function) in enumerate(sorted(public().items())):
        known = sorted(set(option_names(function)))
        module = name.replace("ks.", "kafkaspec.", 1) if name.startswith("ks.") else name
        while module not in sys.modules:
            module = module.rpartition(".")[0]
        path = name[len("ks" if name.startswith("ks.") else module) + 1 :].split(".")
        call = f"f{number}"
        if known:
            lines.append(f"from {module} import {path[0]} as {call}")
        for option in known:
            typo = option + option[-1]
            typos[len(lines) + 1] = typo
            if path[1:]:
                lines.append(f"def _(it: {call}) -> None: it.{path[1]}({typo}=1)")
            else:
                lines.append(f"{call}({typo}=1)")
    return "\n".join(lines) + "\n", typos


@pytest.mark.slow
def test_every_enumerated_option_of_every_public_function_is_checked() -> None:
    wrong = []
    checked = set()
    for name, function in public().items():
        for option, known in enumerated(function):
            checked.add(option)
            try:
                function(**{option: WRONG})
            except ValueError as error:
                text = str(error)
                missing = [word for word in known if str(word) not in text]
                if option not in text or missing:
                    wrong.append(f"{name}({option}=): {text}")
            except Exception as error:  # what is not checked is missing other arguments
                wrong.append(f"{name}({option}=) is not checked: {error!r}")
    assert not wrong, "\n".join(wrong)
    assert {"isolation", "crc", "tail", "on_error", "log_start", "layout", "header_keys"} <= checked
    assert {"markers", "fill", "offsets", "evolve", "on_value_error"} <= checked


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("isolation", ["read_commited", "READ_COMMITTED", "committed", ""]),
        ("log_start", ["chekpoint", "CHECKPOINT"]),
        ("on_error", ["ignore", "column"]),
    ],
)
def test_records_with_a_wrong_word_are_not_delivered(option: str, words: list[str]) -> None:
    with ks.open(ROOT / "tests/golden/4.4.0/logs") as log:
        for word in words:
            readers: list[Any] = [log.records, log.to_batches, log.to_arrow, log.to_typed]
            for read in readers:
                with pytest.raises(ValueError, match=f"^{option} must be one of "):
                    read(**{option: word})


SEGMENT = ROOT / "tests/golden/4.4.0/logs/plain-0/00000000000000000000.log"


@pytest.mark.parametrize("option", FORMER_WORDS)
def test_a_former_word_is_accepted_with_a_warning(option: str, tmp_path: Path) -> None:
    ids = pa.table({"transactional_id": pa.array([], pa.string())})
    with ks.open(SEGMENT) as log:
        calls: dict[str, Callable[[Any], Any]] = {
            "crc": lambda word: ks.Segment(SEGMENT, crc=word).crc,
            "tail": lambda word: ks.Segment(SEGMENT, tail=word)._tail_policy,
            "markers": lambda word: (
                salvage(SEGMENT, tmp_path / word, markers=word, transaction_ids=ids, sync=False)
                .partitions[0]
                .segments
            ),
            "on_error": lambda word: Selection(on_error=word).on_error,
            "on_unreadable": lambda word: Request(("offset",), on_unreadable=word).on_unreadable,
            "on_value_error": lambda word: (
                log.topic_messages("OffsetCommit", on_value_error=word).schema
            ),
        }
        for word, now in FORMER_WORDS[option].items():
            with pytest.warns(DeprecationWarning, match=f"^{option}='{word}' .* '{now}'$") as found:
                former = calls[option](word)
            assert found[0].filename == __file__
            assert former == calls[option](now)


def test_a_former_name_is_accepted_with_a_warning() -> None:
    with ks.open(SEGMENT) as log:
        for name, word in (("on_message", "column"), ("errors", "column")):
            with pytest.warns(DeprecationWarning, match=f"'{name}' of topic_messages.*on_value_er"):
                found = log.topic_messages("OffsetCommit", **{name: word})  # type: ignore[arg-type]
            assert "error" in found.schema.names
        both: Any = {"errors": "raise", "on_value_error": "raise"}
        with (
            pytest.warns(DeprecationWarning, match="errors"),
            pytest.raises(TypeError, match="'errors' and 'on_value_error', which are one option"),
        ):
            log.topic_messages("OffsetCommit", **both)


def test_a_former_name_of_one_function_is_unknown_to_others() -> None:
    log = ks.open(ROOT / "tests/golden/4.4.0/logs")
    with log, pytest.raises(TypeError, match="has no option 'at'"):
        log.to_batches(at=5)  # type: ignore[call-arg]
    metadata = next((ROOT / "tests/golden").rglob("__cluster_metadata-0"))
    with ks.Partition(metadata) as found:
        with pytest.warns(DeprecationWarning, match="'at' of read_cluster.*'end_offset'"):
            before = read_cluster(found, at=9)  # type: ignore[call-arg]
        assert before.end_offset == read_cluster(found, end_offset=9).end_offset == 9


def test_what_is_skipped_is_told() -> None:
    data = bytearray(SEGMENT.read_bytes())
    data[150] ^= 1
    with ks.Segment(bytes(data), name="damaged") as log:
        lost: list[ks.KafkaSpecError] = []
        kept = list(log.records(on_error=lost.append))
        assert kept
        (error,) = lost
        for read in (lambda: list(log.records(on_error="skip")),
                     lambda: log.to_arrow(["offset"], on_error="skip").to_pylist()):  # fmt: skip
            with pytest.warns(RuntimeWarning) as warned:
                assert len(read()) == len(kept)
            assert [str(item.message) for item in warned] == [f"left out: {error}"]


def test_an_unknown_option_names_the_function_and_the_nearest_option() -> None:
    path = ROOT / "tests/golden/4.4.0/logs"
    with pytest.raises(TypeError, match=r"^open\(\) has no option 'crcc'.*did you mean 'crc'"):
        ks.open(path, crcc="error")  # type: ignore[call-arg]
    with ks.open(path) as log:
        for name in ("records", "to_batches", "to_arrow", "to_typed", "topic_messages"):
            with pytest.raises(TypeError, match=rf"^{name}\(\) has no option 'isolatoin'.*'isola"):
                getattr(log, name)(isolatoin="read_committed")
    with pytest.raises(TypeError, match=r"^convert\(\) has no option 'magik'.*'magic'"):
        ks.convert(path, path / "out", magik=2)  # type: ignore[call-arg]


def hints(function: Any, without: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the types of the options of a function or class that are named one by one."""
    target = function.__init__ if isclass(function) else function
    space = dict(vars(sys.modules[function.__module__]))
    return {
        name: eval(str(each.annotation), space)
        for name, each in signature(target).parameters.items()
        if each.kind is Parameter.KEYWORD_ONLY and name not in without
    }


def plain(found: dict[str, Any]) -> dict[str, Any]:
    """Return types with that of ms for times: objects that are made of options have those."""
    return {name: int | None if kind == Time | None else kind for name, kind in found.items()}


@pytest.mark.parametrize(
    ("keys", "function", "without"),
    [
        (SegmentOptions, Entries, ("base_offset", "name")),
        (RecordOptions, Selection, ("start_offset", "aborted")),
        (FindOptions, ks.Partition.find, ()),
        (ChoiceOptions, Choices, ()),
        (EncodeOptions, ks.encode, ("magic", "compression")),
        (
            SalvageOptions,
            salvage,
            ("transaction_ids", "profile", "index_interval_bytes", "sync", "progress"),
        ),
    ],
)
def test_an_option_has_the_same_type_wherever_it_is_named(
    keys: Any, function: Any, without: tuple[str, ...]
) -> None:
    assert plain(get_type_hints(keys)) == plain(hints(function, without))


def test_the_options_of_a_request_are_its_attributes() -> None:
    attributes = get_type_hints(Request, localns={"Where": Where})
    attributes.pop("columns")
    attributes.pop("where")
    for name in ("apart", "joined"):  # which readers of columns ask for
        attributes.pop(name)
    assert plain(get_type_hints(RequestOptions)) == attributes
