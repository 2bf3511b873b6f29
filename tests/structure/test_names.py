"""Names: a type has its own, and of a module the folder says whose it is."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator

import pytest

from tests.structure.source import module_name, trees

SHARED = {
    "Codec": "an option of the command has the name of its value",
    "Finding": "`kafkaspec.analysis.Finding` is public: the finding of verify, a subclass",
    "Kind": "the former name of `kafkaspec.state.image.ClusterKind`; it goes after 0.3",
}
"""Names that several types have, and why."""

MODULES = {
    "arrays": "Arrow arrays of the values, messages or columns of the folder",
    "codec": "the one codec of its folder",
    "compaction": "a pass of the cleaner: its rules, the command, the job of Spark and its command",
    "entries": "entries of a log as the folder has them: read, converted, redacted, compared",
    "headers": "headers of batches as the folder takes them",
    "indexes": "index files: their bytes, Kafka's text, timelines; of Protobuf, those of messages",
    "messages": "Kafka's messages, or those of a log, as the folder handles them",
    "options": "the options of its folder: of the command, jobs, logs, Spark, values; and of all",
    "reading": "of forensics: reads a partition for the folder; of values: decodes the format",
    "report": "what the work of the folder returns",
    "schema": "the schema of the format or system in the folder's name",
    "transactions": "of the folder: a log's, the topic's, the command, the verdicts on them",
}
"""Names that four modules or more have, and why the folder says what each of them holds."""


def types(tree: ast.Module) -> Iterator[str]:
    """Yield the public classes and aliases of a module, without variables of types."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            name = node.name
        elif (
            isinstance(node, ast.Assign | ast.AnnAssign)
            and node.value is not None
            and not ast.unparse(node.value).startswith("TypeVar(")
        ):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            name = target.id if isinstance(target, ast.Name) else "_"
        else:
            continue
        if name[0].isupper() and not name.isupper():
            yield name


def shared(modules: dict[str, ast.Module]) -> dict[str, list[str]]:
    """Return the names that types of several modules have, with these."""
    found: dict[str, list[str]] = defaultdict(list)
    for module, tree in modules.items():
        for name in types(tree):
            found[name].append(module)
    return {name: homes for name, homes in found.items() if len(homes) > 1}


@pytest.mark.slow
def test_a_type_has_its_own_name() -> None:
    found = shared({module_name(path): tree for path, tree in trees("kafkaspec").items()})
    assert {name: homes for name, homes in found.items() if name not in SHARED} == {}
    assert found.keys() == SHARED.keys()


def test_a_name_of_two_types_is_found() -> None:
    text = "class Ab: pass\nBc = int | str\nCd: TypeAlias = int\n"
    text += "_De = int\nEf = TypeVar('Ef')\nFG = 1\n"
    found = shared({"x": ast.parse(text), "y": ast.parse(text)})
    assert found == {name: ["x", "y"] for name in ("Ab", "Bc", "Cd")}


def test_a_common_name_of_modules_is_explained() -> None:
    names = Counter(path.stem for path in trees("kafkaspec") if path.stem != "__init__")
    assert {name for name, count in names.items() if count >= 4} == MODULES.keys()
