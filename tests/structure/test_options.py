"""An option has one type and one meaning in all commands; a table has the exceptions."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any, get_type_hints, is_typeddict

import click
import pytest

from kafkaspec.cli.options import LIBRARY, FormerName, LogPath
from kafkaspec.options import Option, options_of, words_of
from kafkaspec.spark.named import ReadNames, WriteNames
from tests.structure.commands import commands, option_name
from tests.structure.source import ROOT, module_name, trees
from tests.structure.test_policy import enumerations
from tools import options as options_tables

OTHER_TYPE = {
    "--output: cluster, dlq": "it may be, or is, a directory",
    "--to: dlq": "records can be segments again",
    "--count: partitions": "any number of partitions, where generate bounds what it writes",
    "--format: dump": "it has the formats of Kafka's tool and of kcat too",
    "--format: explain": "it has the text that assemble reads too",
    "--format: conform, verify, spark verify": "they have forms for other programs too",
    "--format: sql": "a result is a table, and can be a file of one",
    "--key: redact": "it changes all records that are named, so it takes several",
    "--output: spark compaction, spark stats": "Spark writes to its own file systems, by URL",
    "--output: spark export, spark lake, spark messages, spark verify": "the same",
    "--output: assemble, dump, sql": "it writes a file, not a directory",
    "--output: export": "it writes a file, or a directory with --split-by",
    "--state: verify": "the file of its state, where groups takes states of groups",
    "--state: spark verify": "a table of its state, or that file",
    "--to: export": "the formats of files; Spark has those of its session, a lake two",
    "--topic: spark export, spark lake": "each topic has its own folder or table: several",
}
"""Commands whose option has another type than in most others, and why."""

OTHER_WORDS = {
    "--output: cluster": "what is written, and with which options",
    "--output: dlq": "what is written is not what was read, but what it is about",
    "--to: dlq": "records can be segments again",
    "--clock: generate": "when the brokers stopped that it makes up, the same in every run",
    "--count: partitions": "what is counted: partitions, not random logs",
    "--codec: conform": "the codec reads vectors, where a program does by default",
    "--codec: explain, verify, spark verify": "several codecs are compared",
    "--complete: transactions": "the topic whose partitions are all there",
    "--compression: spark export": "rows have no control batches, which convert keeps as they are",
    "--crc: export": "it ends at a batch with a wrong checksum, dump reports it",
    "--evolve: spark export": "the schema is made before data is read: latest alone",
    "--force: assemble, dump, export, sql": "what is replaced: OUT, not REPORT",
    "--format: dump, explain, sql": "the formats of the command",
    "--history: transactions": "what has a history in the topic",
    "--isolation: find": "it asks for one record, not for all",
    "--key: redact": "find shows one of the records with the key, redact changes all",
    "--key-format, --value: spark export": "its help has no list of formats",
    "--offset: explain": "find shows the record, explain the batch around it",
    "--on-value-error: spark export": "the library has the default",
    "--output: compaction, convert, export, index, redact, salvage, schemas": "what is written",
    "--output: restore": "the same",
    "--output: spark compaction, spark export": "the same",
    "--output: spark messages, spark stats, spark verify": "the same",
    "--profile: compaction, spark compaction": "the versions that it has",
    "--profile: generate": "what it is for",
    "--profile: doctor, index, retention": "what follows the rules of the version",
    "--schemas: spark export": "it looks beside PATH by default",
    "--state: verify": "what it remembers, where groups takes states of groups",
    "--state: spark verify": "the same",
    "--to: spark export, spark lake": "the formats of the command",
    "--topic: spark lake": "several topics, each in its own table",
    "--output: spark lake": "a lake that grows, not something new",
    "--evolve, --key-format, --schemas, --value: spark lake": "of typed tables, beside raw ones",
    "--topic: schemas": "the default is _schemas",
}
"""Commands whose help adds something to that of most others, and what; the meaning is one."""


def listed(table: Mapping[str, str]) -> set[str]:
    """Return the options and commands of a table, one by one."""
    pairs = (key.split(": ") for key in table)
    return {
        f"{name}: {command}"
        for names, many in pairs
        for name in names.split(", ")
        for command in many.split(", ")
    }


def options(
    tree: Mapping[str, click.Command], of: Callable[[click.Option], Any]
) -> dict[str, dict[str, Any]]:
    """Return something of each option by its name and command; former names do not count."""
    found: dict[str, dict[str, Any]] = defaultdict(dict)
    for name, command in tree.items():
        for option in command.params:
            if isinstance(option, click.Option) and not isinstance(option, FormerName):
                found[option_name(option)][name] = of(option)
    return found


def kind(option: click.Option) -> Any:
    """Return the type of an option: that of a value, and how many there are."""
    about = dict(option.type.to_info_dict())
    if isinstance(option.type, click.Choice):
        about["choices"] = tuple(option.type.choices)
    return (
        type(option.type), sorted(about.items()), option.multiple, option.is_flag, option.nargs,
    )  # fmt: skip


def others(values: Mapping[str, Any]) -> list[str]:
    """Return the commands whose value is not that of most; the first one counts of equal ones."""
    ((most, _),) = Counter(map(repr, values.values())).most_common(1)
    return [command for command, value in values.items() if repr(value) != most]


def differences(tree: Mapping[str, click.Command], of: Callable[[click.Option], Any]) -> set[str]:
    """Return the options that have something else in some command than in most, with it."""
    found = options(tree, of)
    return {f"{name}: {each}" for name, values in found.items() for each in others(values)}


def test_an_option_has_one_type() -> None:
    assert differences(commands(), kind) == listed(OTHER_TYPE)


def test_an_option_has_one_meaning() -> None:
    found = differences(commands(), lambda option: (option.help, option.metavar))
    assert found == listed(OTHER_WORDS)


def test_common_words_of_choices_come_in_one_order() -> None:
    for name, values in options(commands(), words).items():
        for one in values.values():
            for other in values.values():
                common = [word for word in one if word in other]
                assert common == [word for word in other if word in one], name
                assert common or not one or not other, name


def words(option: click.Option) -> tuple[str, ...]:
    kind = option.type
    return tuple(map(str, kind.choices)) if isinstance(kind, click.Choice) else ()


def test_two_types_and_two_meanings_are_found() -> None:
    def command(*parameters: click.Parameter) -> click.Command:
        return click.Command("x", params=list(parameters))

    tree = {
        "a": command(click.Option(["--n"], type=int, help="A number.")),
        "b": command(click.Option(["--n"], type=int, help="A number.")),
        "c": command(click.Option(["--n"], type=str, help="A number.")),
        "d": command(click.Option(["--n"], type=int, multiple=True, help="Numbers.")),
        "e": command(FormerName(["--n"], now="--m")),
    }
    assert differences(tree, kind) == {"--n: c", "--n: d"}
    assert differences(tree, lambda option: option.help) == {"--n: d"}


URL = "http://127.0.0.1:1/orders-0"


def takes_urls(command: click.Command) -> bool:
    """Return whether the path of a command may be a URL, as ``LogPath`` decides it."""
    for argument in command.params:
        if isinstance(argument, click.Argument) and isinstance(argument.type, LogPath):
            try:
                argument.type.convert(URL, argument, None)
            except click.BadParameter:
                return False
            return True
    return False


def has(name: str) -> Callable[[click.Command], bool]:
    return lambda command: any(name in option.opts for option in command.params)


FEATURES: dict[str, Callable[[click.Command], bool]] = {
    "several PATHs": lambda command: any(each.nargs == -1 for each in command.params),
    "URLs": takes_urls,
    "`--from-offset`": has("--from-offset"),
    **{f"`{name}`": has(name) for name in ("--topic", "--codec", "--jobs", "--no-mmap")},
}


@pytest.mark.parametrize("feature", FEATURES)
def test_the_guide_says_which_commands_have_an_option(feature: str) -> None:
    text = (ROOT / "docs" / "guide" / "README.md").read_text(encoding="utf-8")
    (row,) = re.findall(rf"^\| {re.escape(feature)}.*\|$", text, re.MULTILINE)
    _, _, cell, reason, _ = row.split("|")
    named = set(re.findall("`([^`]+)`", cell))
    expected = {name for name, command in commands().items() if FEATURES[feature](command)}
    assert named == (commands().keys() - expected if "all but" in cell else expected)
    assert len(reason.split()) > 5


def test_the_tables_of_options_are_current() -> None:
    found = 0
    for path in options_tables.GUIDE.glob("*.md"):
        text = path.read_text(encoding="utf-8")
        assert options_tables.made(text) == text, f"run python -m tools.options: {path.name}"
        found += text.count("by `python -m tools.options`")
    assert found == 3


DEFINED = {"policy.py", "log/options.py", "conversion/options.py"}
"""The modules with the definitions, and the words that these take."""


@pytest.mark.slow
def test_the_words_of_an_option_of_the_library_are_written_once() -> None:
    """A command takes them from the definition, so that a word is added in one place."""
    known = {frozenset(words_of(kind)) for kind, _ in LIBRARY.values()}
    second = [
        f"{path.relative_to(ROOT)}: {sorted(words)}"
        for path, tree in trees("kafkaspec").items()
        if path.relative_to(ROOT / "kafkaspec").as_posix() not in DEFINED
        for words in enumerations(tree)
        if len(words) > 1 and words in known
    ]
    assert second == []


@pytest.mark.slow
def test_the_log_start_has_one_default() -> None:
    second = [
        f"{path.relative_to(ROOT)}: {ast.unparse(value)}"
        for path, tree in trees("kafkaspec").items()
        for node in ast.walk(tree)
        for name, value in given(node)
        if name == "log_start" and ast.unparse(value).strip("'") in ("checkpoint", "ignore")
    ]
    assert second == []


def given(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Yield the defaults of attributes and arguments."""
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
        yield node.target.id, node.value
    if isinstance(node, ast.arguments):
        named = zip(node.kwonlyargs, node.kw_defaults, strict=True)
        yield from ((argument.arg, value) for argument, value in named if value is not None)


def declared(tree: ast.AST) -> Iterator[str]:
    """Yield the names of options that a module of the command declares by hand."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arguments):
            named = zip(node.kwonlyargs, node.kw_defaults, strict=True)
            for argument, value in named:
                if isinstance(value, ast.Call) and ast.unparse(value.func) == "option":
                    yield long_name(value) or f"--{argument.arg.replace('_', '-')}"
        if isinstance(node, ast.Call) and ast.unparse(node.func) in (
            "click.option", "renamed_option",
        ):  # fmt: skip
            yield from filter(None, [long_name(node)])


def long_name(call: ast.Call) -> str:
    """Return the name of an option in a call that declares it, "" if it has none."""
    texts = (str(each.value) for each in call.args if isinstance(each, ast.Constant))
    return next((text for text in texts if text.startswith("--")), "")


def by_hand() -> Counter[str]:
    """Return how often each option is declared by hand, by name."""
    modules = trees("kafkaspec/cli").items()
    return Counter(name for _, tree in modules for name in declared(tree))


def definitions() -> dict[str, str]:
    """Return the options of all typed dictionaries that commands have: texts by name."""
    found = {said.command: said.text for _, said in LIBRARY.values()}
    for path, tree in trees("kafkaspec").items():
        for node in tree.body:
            keys = isinstance(node, ast.ClassDef) and getattr(
                import_module(module_name(path)), node.name
            )
            if is_typeddict(keys):
                said = [each for _, each in options_of(keys).values() if isinstance(each, Option)]
                found = {each.command: each.text for each in said} | found
    return {name: text for name, text in found.items() if name}


@pytest.mark.slow
def test_an_option_of_the_library_is_never_declared_by_hand() -> None:
    """The command takes type, name and help from its definition, under no other name."""
    known = definitions()
    assert known.keys() >= {"--until-offset", "--magic", "--plain", "--profile", "--fill", "--rule"}
    assert by_hand().keys() & known.keys() == set()
    names = {text: name for name, text in known.items()}
    for name, helps in options(commands(), lambda option: option.help).items():
        for command, text in helps.items():
            assert names.get(text, name) == name, f"{command} {name}: it is {names[text]}"


@pytest.mark.slow
def test_an_option_is_declared_once() -> None:
    """Commands with one option share its declaration; where its type differs, it is another one."""
    others = {key.partition(":")[0] for key in OTHER_TYPE}
    assert {name for name, count in by_hand().items() if count > 1} - others == set()


def test_options_by_hand_are_found() -> None:
    tree = ast.parse(
        "@click.option('-o', '--output', help='x')\n"
        "def f(*, no_check: bool = option('Do not.'), x: int = option('--records', 'Show.'),\n"
        "      plain: bool = defined()): ..."
    )
    assert sorted(declared(tree)) == ["--no-check", "--output", "--records"]


def test_each_option_of_spark_says_what_it_does() -> None:
    for keys in (ReadNames, WriteNames):
        assert options_of(keys).keys() == get_type_hints(keys).keys()
        for name, (_, said) in options_of(keys).items():
            assert options_tables.meaning(name, said), name
