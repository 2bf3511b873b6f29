"""A public class or alias of a type has a name that no other one has."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from tests.structure.source import module_name, trees

SHARED = {
    "Codec": "an option of the command has the name of its value",
    "Finding": "`kafkaspec.analysis.Finding` is public: the finding of verify, a subclass",
    "Kind": "the former name of `kafkaspec.state.image.ClusterKind`; it goes after 0.3",
}
"""Names that several types have, and why."""


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


def test_a_type_has_its_own_name() -> None:
    found = shared({module_name(path): tree for path, tree in trees("kafkaspec").items()})
    assert {name: homes for name, homes in found.items() if name not in SHARED} == {}
    assert found.keys() == SHARED.keys()


def test_a_name_of_two_types_is_found() -> None:
    text = "class Ab: pass\nBc = int | str\nCd: TypeAlias = int\n"
    text += "_De = int\nEf = TypeVar('Ef')\nFG = 1\n"
    found = shared({"x": ast.parse(text), "y": ast.parse(text)})
    assert found == {name: ["x", "y"] for name in ("Ab", "Bc", "Cd")}
