"""Write ``docs/api.md`` and ``docs/api/``: all that is public, with its types, from signatures and
docstrings, a page for each class and for each package of results.

``python -m tools.api`` writes them; a test compares them.
"""

from __future__ import annotations

import ast
import enum
import inspect
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import is_dataclass
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, Final, get_type_hints

import kafkaspec
import kafkaspec.spark
from kafkaspec.arrow.schema import Request
from kafkaspec.conversion.choices import Choices
from kafkaspec.conversion.options import ChoiceOptions
from kafkaspec.lake import maintenance, restoring, tables
from kafkaspec.log.batch import FORMER
from kafkaspec.log.encoding import EncodeOptions
from kafkaspec.log.entries import Entries
from kafkaspec.log.options import FindOptions
from kafkaspec.options import options_of
from kafkaspec.spark import jobs
from kafkaspec.spark.named import ReadNames
from kafkaspec.values.reading.request import planned
from tools.options import meaning

DOCS: Final = Path(__file__).parents[1] / "docs"

_MADE = "<!-- Made by `python -m tools.api` from docstrings. DO NOT EDIT. -->"
_HEAD = f"""\
{_MADE}

# API

`import kafkaspec as ks` gives these names, and `ks.__version__`. They load when they are first
used, so that the import is cheap. For examples, see [Read and write from Python](guide/write.md)
and [Arrow](guide/arrow.md). [Types](api/types.md) has the words and options that signatures name;
pages of results have the classes that come out, by package.

Other public modules: `kafkaspec.spark` ([Spark](guide/spark.md)), `kafkaspec.lake`
([The lake](guide/lake.md)), `kafkaspec.conformance`
([Test your own decoder](guide/conform.md)), `kafkaspec.arrow.messages`
([Internal topics](guide/arrow.md#internal-topics)), and `kafkaspec.files.checkpoints`, which
reads and writes the text files of a log directory. Names that begin with an underscore may change
without notice.

"""

_PROTOCOLS: Final = {
    "__iter__": "for item in {0}",
    "__len__": "len({0})",
    "__contains__": "name in {0}",
    "__getitem__": "{0}[name]",
}
_SECTION = re.compile(r"^(Args|Attributes|Raises[^\n:]*|Returns|Yields|Columns):\n", re.MULTILINE)
_NAME = re.compile(r"\b[A-Z]\w+\b")
_DEFAULTS: Final[dict[type, Any]] = {
    ChoiceOptions: (Choices,),
    EncodeOptions: (kafkaspec.encode,),
    FindOptions: (kafkaspec.Partition.find,),
}
"""What has the defaults of the options of a typed dictionary."""
_FORMER: Final = {
    kafkaspec.Batch: set(FORMER),
    kafkaspec.KafkaSpecError: {"offset", "inner_offset"},
}
"""Members that are deprecated: they work, but nobody is to learn them."""


def pages() -> dict[str, str]:
    """Return the Markdown of all pages by their paths below ``docs/``, the list of them first."""
    values = {name: getattr(kafkaspec, name) for name in kafkaspec.__all__}
    functions = [name for name, value in values.items() if isinstance(value, FunctionType)]
    classes = [name for name, value in values.items() if _is_class(value)]
    errors = [name for name, value in values.items() if _is_error(value)]
    linked = _Linked(values)
    parts = {"functions": ["# Functions", ""]}
    for name in functions:
        parts["functions"] += _function(f"ks.{name}", values[name], linked, f"## {name}")
    for name in sorted(classes, key=lambda name: (*_FIRST, name).index(name)):
        parts[name.lower()] = _class(f"ks.{name}", values[name], linked, f"# {name}")
    parts["errors"] = ["# Errors", ""]
    for name in errors:
        value = values[name]
        base = "" if value.__base__ in (ValueError, Exception) else f" ({value.__base__.__name__})"
        parts["errors"] += [f"## {name}", "", f"`ks.{name}`{base}. {_meaning(value)}", ""]
        if value is kafkaspec.KafkaSpecError:
            parts["errors"] += _members(name, value, linked)
    words = _words(kafkaspec.Reason)
    parts["errors"] += ["## Reason", "", _meaning(kafkaspec.Reason), "", *words, ""]
    parts["spark"], parts["lake"] = _spark(linked), _lake(linked)
    results: dict[type, list[str]] = {}
    while left := linked.classes.keys() - results.keys():  # these name others
        for class_ in sorted(left, key=_by_name):
            results[class_] = _result(class_, linked)
    packages: dict[str, list[str]] = {}
    for class_ in sorted(results, key=_by_name):
        packages.setdefault(class_.__module__.split(".")[1], []).extend(results[class_])
    for package, lines in packages.items():
        name = package if sum(map(len, lines)) >= _OWN_PAGE else "others"
        parts.setdefault(f"results-{name}", [f"# Results: {name}", ""]).extend(lines)
    types = ["# Types", "", "| name | what it is |", "|---|---|"]
    types += [f"| `{name}` | {text} |" for name, text in sorted(linked.aliases.items())]
    types.append("")
    for name, keys in sorted(linked.options.items()):
        types += [f"## {name}", "", *_options(keys, linked), ""]
    order = [name for name in parts if name[:8] != "results-"]
    order += ["types", *sorted(parts.keys() - {*order})]
    return _placed({name: "\n".join((parts | {"types": types})[name]) for name in order})


_FIRST: Final = ("Log", "LogDirectory", "Partition", "Segment", "Batch", "Record", "Found",
    "SegmentWriter", "SchemaLog")  # fmt: skip
"""Classes in the order in which one meets them."""
_OWN_PAGE: Final = 2000
"""Letters from which on the results of a package have a page."""


def _placed(texts: dict[str, str]) -> dict[str, str]:
    """Return pages with the paths that they have, and with links that lead from one to another."""
    homes = {
        anchor: f"{name}.md" for name, text in texts.items() for anchor in _anchors(text).values()
    }
    rows = []
    found: dict[str, str] = {}
    for name, text in texts.items():
        text = re.sub(r"\]\((?=(?:quirks\.md|guide/))", "](../", text)
        text = re.sub(r"\]\(#([\w-]+)\)", lambda link: f"]({homes[link[1]]}#{link[1]})", text)
        text = text.replace(f"]({name}.md#", "](#")
        found[f"api/{name}.md"] = f"{_MADE}\n\n{text.rstrip()}\n"
        title, *inner = _anchors(text).items()
        names = [f"[`{each}`](api/{name}.md#{anchor})" for each, anchor in inner]
        rows.append(f"| [{title[0]}](api/{name}.md) | {', '.join(names)} |")
    table = ["| page | names |", "|---|---|", *rows]
    return {"api.md": _HEAD + "\n".join(table) + "\n"} | found


def _anchors(text: str) -> dict[str, str]:
    """Return the headings of a page with their anchors, as code hosts make them."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {each: re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}


_LAKE: Final = (tables, maintenance, restoring)
"""Modules of ``kafkaspec.lake`` with public functions."""


def _spark(linked: _Linked) -> list[str]:
    """Return the functions and errors of ``kafkaspec.spark``, and the functions of its jobs."""
    text = "`import kafkaspec.spark` needs the extra `spark`. [Spark](guide/spark.md) explains the "
    text += "options of its data source, and its jobs, which are in `kafkaspec.spark.jobs`."
    modules = [
        ("", kafkaspec.spark),
        *((f"jobs.{name}.", getattr(jobs, name)) for name in dir(jobs)),
    ]
    return ["# Spark", "", text, "", *_modules("spark", modules, linked)]


def _lake(linked: _Linked) -> list[str]:
    """Return the functions of ``kafkaspec.lake`` that open, maintain and restore a lake."""
    text = "`kafkaspec.lake` needs the extra `lake`, and no Spark: what `kafkaspec.spark.lake` has "
    text += "filled can be opened, maintained and restored. See [the lake](guide/lake.md)."
    modules = [(f"{module.__name__.split('.')[-1]}.", module) for module in _LAKE]
    return ["# Lake", "", text, "", *_modules("lake", modules, linked)]


def _modules(package: str, modules: Iterable[tuple[str, ModuleType]], linked: _Linked) -> list[str]:
    """Return the functions and errors of modules of a package."""
    lines: list[str] = []
    for prefix, module in modules:
        for name in module.__all__:
            value = getattr(module, name)
            if isinstance(value, FunctionType):
                title = f"## {package}.{prefix}{name}"
                lines += _function(f"kafkaspec.{package}.{prefix}{name}", value, linked, title)
            elif _is_error(value):
                bases = " and ".join(f"`{base.__name__}`" for base in value.__bases__)
                lines += [f"## {package}.{name}", ""]
                lines += [f"`kafkaspec.{package}.{name}` ({bases}). {_meaning(value)}", ""]
    return lines


def main() -> None:
    """Write the pages, and remove those that are none any more."""
    written = {DOCS / name: text for name, text in pages().items()}
    for path in (DOCS / "api").glob("*.md"):
        if path not in written:
            path.unlink()
    for path, text in written.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


class _Linked:
    """The names in signatures: classes that are not of the top level, aliases, and options."""

    def __init__(self, values: dict[str, Any]) -> None:
        self._known = set(map(id, values.values()))
        self.classes: dict[type, None] = {}
        self.aliases: dict[str, str] = {}
        self.options: dict[str, type] = {}

    def note(
        self, annotation: object, module: str, *, deep: bool = True, only_data: bool = False
    ) -> None:
        """Look the names in an annotation up.

        Args:
            annotation: of an argument, a result or an attribute.
            module: that has it.
            deep: whether classes in it are results.
            only_data: whether they are only if they do nothing but hold data.
        """
        for name in sorted(set(_NAME.findall(_shown(annotation)))):
            home = _home(module, name)
            if home is None:
                continue
            value = getattr(import_module(home), name, None)
            if isinstance(value, type) and "__total__" in vars(value):
                self.options[name] = value
            elif isinstance(value, type):
                own = value.__module__.startswith("kafkaspec.") and "_generated" not in home
                fits = is_dataclass(value) or issubclass(value, tuple | enum.Enum) or not only_data
                if deep and own and fits and id(value) not in self._known:
                    self.classes[value] = None
            else:
                text, meaning = _assigned(home, name)
                if text and name not in self.aliases:
                    self.aliases[name] = f"`{_escaped(text)}` {_markdown(meaning)}".strip()
                    self.note(text, home, deep=deep, only_data=only_data)


@cache
def _home(module: str, name: str) -> str | None:
    """Return the module of ours that has a name which another one uses."""
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("kafkaspec"):
            for each in node.names:
                if (each.asname or each.name) == name:
                    assert node.module is not None
                    inner = _home(node.module, each.name)
                    return inner if inner is not None else node.module
    there = vars(sys.modules[module]).get(name)
    own = getattr(there, "__module__", module) == module or _assigned(module, name)[0]
    return module if there is not None and own else None


@cache
def _tree(module: str) -> ast.Module:
    path = import_module(module).__file__
    assert path is not None
    return ast.parse(Path(path).read_text(encoding="utf-8"))


@cache
def _assigned(module: str, name: str) -> tuple[str, str]:
    """Return what a module assigns to a name, and the text under it."""
    body = _tree(module).body
    for node, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.Assign) and [ast.unparse(each) for each in node.targets] == [name]:
            text = ""
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                text = str(after.value.value)
            return ast.unparse(node.value), text
    return "", ""


def _is_class(value: Any) -> bool:
    return isinstance(value, type) and not _is_error(value) and value is not kafkaspec.Reason


def _is_error(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, Exception)


def _function(name: str, function: Any, linked: _Linked, title: str) -> list[str]:
    """Return the signature of a function, what it does, its arguments, results and errors."""
    signature = inspect.signature(function)
    module = function.__module__
    for parameter in signature.parameters.values():
        linked.note(parameter.annotation, module, deep=False)
    linked.note(signature.return_annotation, module)
    lines = [title, "", "```py", _signature(name, signature), "```", ""]
    return lines + _text(inspect.getdoc(function) or "")


def _signature(name: str, signature: inspect.Signature) -> str:
    parts = []
    star = False
    for each in signature.parameters.values():
        if each.name in ("self", "cls"):
            continue
        if each.kind is each.KEYWORD_ONLY and not star:
            parts.append("*")
        star |= each.kind in (each.KEYWORD_ONLY, each.VAR_POSITIONAL)
        text = f"{'**' if each.kind is each.VAR_KEYWORD else ''}{each.name}"
        text += "" if each.annotation is each.empty else f": {_shown(each.annotation)}"
        own = each.name != "codec"  # which one is the default depends on the machine
        text += "" if each.default is each.empty else f" = {_default(each.default, own)}"
        parts.append(text)
    back = signature.return_annotation
    arrow = "" if back is signature.empty else f" -> {back}"
    line = f"{name}({', '.join(parts)}){arrow}"
    if len(line) <= 100 or not parts:
        return line
    return "\n".join([f"{name}(", *(f"    {part}," for part in parts), f"){arrow}"])


def _shown(annotation: object) -> str:
    """Return the text of an annotation, as it is in the source, without what is said beside it."""
    text = str(getattr(annotation, "__forward_arg__", annotation))
    if not text.startswith("Annotated["):
        return text
    annotated: Any = ast.parse(text, mode="eval").body
    return ast.unparse(annotated.slice.elts[0])


def _default(value: object, own: bool) -> str:
    if isinstance(value, enum.StrEnum):
        value = str(value)
    return repr(value) if own and isinstance(value, str | int | tuple | bool | None) else "..."


def _text(doc: str) -> list[str]:
    """Return a docstring as Markdown: its paragraphs, and its sections as lists."""
    first, *parts = _SECTION.split(doc)
    lines = [*_paragraphs(first)]
    for title, body in zip(parts[::2], parts[1::2], strict=True):
        section, rest = _indented(body)
        word = {"Args": "Arguments"}.get(title, title)
        if title in ("Returns", "Yields"):
            lines += [f"{word}: {_markdown(section)}", ""]
        else:
            lines += [f"{word}:", ""]
            lines += [f"- `{name}`: {_markdown(text)}" for name, text in _items(section)]
            lines.append("")
        lines += _paragraphs(rest)
    return lines


def _paragraphs(text: str) -> list[str]:
    found = []
    for part in text.strip().split("\n\n"):
        if part.strip():
            found += [_markdown(part), ""]
    return found


def _indented(body: str) -> tuple[str, str]:
    """Divide what belongs to a section from what comes after it."""
    match = re.search(r"\n(?=\S)", body)
    section, rest = (body, "") if match is None else (body[: match.start()], body[match.end() :])
    return textwrap.dedent(section), rest


def _items(section: str) -> Iterator[tuple[str, str]]:
    for item in re.split(r"\n(?=\S)", section.strip()):
        name, colon, text = item.partition(":")
        if colon:
            yield name, text


def _class(name: str, class_: type, linked: _Linked, title: str) -> list[str]:
    doc = inspect.cleandoc(class_.__doc__ or "")
    lines = [title, ""]
    if "__init__" in vars(class_) or any("__init__" in vars(each) for each in class_.__mro__[1:-1]):
        lines += _made(name, class_, linked)
    elif issubclass(class_, tuple):
        lines += ["```py", _signature(name, inspect.signature(class_)), "```", ""]
    meaning = _paragraphs(_SECTION.split(doc)[0])
    lines += [f"`{name}`. {meaning[0]}", *meaning[1:]]
    return lines + _members(name, class_, linked)


def _by_name(class_: type) -> tuple[str, str]:
    return class_.__name__, class_.__module__


def _result(class_: type, linked: _Linked) -> list[str]:
    """Return what a class that comes out holds, without its functions."""
    title = [f"## {class_.__name__}", "", f"`{class_.__module__}`. {_meaning(class_)}", ""]
    if issubclass(class_, enum.Enum):
        return [*title, *_words(class_), ""]
    return title + _members(class_.__name__, class_, linked, functions=False)


def _made(name: str, class_: type, linked: _Linked) -> list[str]:
    """Return how an object is made, unless only the library makes it."""
    function: Any = class_.__init__  # type: ignore[misc]
    if class_ in (kafkaspec.Batch, kafkaspec.Found, kafkaspec.SchemaLog):
        return []
    lines = _function(name, function, linked, "")[1:]
    return [line.replace(") -> None", ")") for line in lines]


def _members(name: str, class_: type, linked: _Linked, *, functions: bool = True) -> list[str]:
    """Return a table of attributes, and the functions one by one."""
    rows = []
    short = name.removeprefix("ks.")
    for attribute, (kind, text) in sorted(_typed(class_, linked, only_data=not functions).items()):
        rows.append(f"| `{attribute}` | `{_escaped(kind)}` | {text} |")
    lines = ["| attribute | type | meaning |", "|---|---|---|", *rows, ""] if rows else []
    if not functions:
        return lines
    if issubclass(class_, kafkaspec.Log):
        lines += [*_used(class_), ""]
    shared = dict(_functions(kafkaspec.Log)) if class_ is not kafkaspec.Log else {}
    same = [name for name, value in _functions(class_) if shared.get(name) is value]
    if same:
        text = ", ".join(f"[`{name}`](#log{name})" for name in same)
        lines += [f"As every [`Log`](#log): {text}.", ""]
    for member, value in _functions(class_):
        if member in same:
            continue
        lines += _function(f"{short}.{member}", value, linked, f"## {short}.{member}")
    return lines


def _used(class_: type) -> Iterator[str]:
    """Yield what ``for``, ``len``, ``in`` and ``[]`` do with a log."""
    for special, form in _PROTOCOLS.items():
        function = getattr(class_, special, None)
        if isinstance(function, FunctionType) and inspect.getdoc(function):
            back = str(inspect.signature(function).return_annotation)
            if back != "NoReturn":
                yield f"- `{form.format('log')}` -> `{_escaped(back)}`: {_meaning(function)}"


def _functions(class_: type) -> Iterator[tuple[str, Any]]:
    for name, member in inspect.getmembers(class_):
        if name.startswith("_") or name in _FORMER.get(class_, ()):
            continue
        found = getattr(member, "__func__", member)
        ours = isinstance(found, FunctionType) and found.__module__.startswith("kafkaspec")
        if ours and inspect.getdoc(found):
            yield name, found


def _typed(class_: type, linked: _Linked, *, only_data: bool) -> dict[str, tuple[str, str]]:
    """Return the attributes and properties of a class, with their types and meanings."""
    texts = dict(_attributes(class_))
    found: dict[str, tuple[str, str]] = {}
    for base in reversed(class_.__mro__):
        if not base.__module__.startswith("kafkaspec"):
            continue
        for name, kind in inspect.get_annotations(base).items():
            if not name.startswith("_") and name in texts:
                found[name] = (_shown(kind), texts[name])
                linked.note(kind, base.__module__, only_data=only_data)
    former = _FORMER.get(class_, ())
    for name, member in inspect.getmembers(class_):
        function = getattr(member, "fget", None) or getattr(member, "func", None)
        if name.startswith("_") or name in former or not isinstance(function, FunctionType):
            continue
        if not isinstance(member, property | cached_property):
            continue
        back = inspect.signature(function).return_annotation
        doc = inspect.getdoc(member)
        if doc:
            found[name] = (str(back), _markdown(doc.split("\n\n")[0]))
            linked.note(back, function.__module__, only_data=only_data)
    return found


def _words(class_: type[enum.Enum]) -> list[str]:
    """Return the members of an enumeration."""
    texts: dict[str, str] = {}
    (node,) = (
        each
        for each in ast.walk(_tree(class_.__module__))
        if isinstance(each, ast.ClassDef) and each.name == class_.__name__
    )
    for item, after in zip(node.body, [*node.body[1:], None], strict=True):
        if isinstance(item, ast.Assign) and isinstance(after, ast.Expr):
            texts[ast.unparse(item.targets[0])] = str(ast.literal_eval(after.value))
    return [
        f"- `{name}` = `{item.value!r}`" + (f": {_markdown(texts[name])}" if name in texts else "")
        for name, item in class_.__members__.items()
    ]


def _options(keys: type, linked: _Linked) -> list[str]:
    """Return the options of a typed dictionary."""
    rows = []
    for base in reversed(keys.__mro__):
        rows += list(inspect.get_annotations(base).items())
    named = {name: _shown(kind) for name, kind in rows}
    texts = {
        name: _markdown(f"{meaning(name, option)} {getattr(option, 'more', '')}".strip())
        for name, (_, option) in options_of(keys).items()
    }
    lines = [_meaning(keys), "", "| option | type | default | meaning |", "|---|---|---|---|"]
    defaults = {
        name: f"`{_escaped(_default(each.default, own=True))}`"
        for function in _DEFAULTS.get(keys, (Entries, planned, Request))
        for name, each in inspect.signature(function).parameters.items()
        if each.default is not each.empty
    }
    if keys.__module__ == ReadNames.__module__ and named.keys() < get_type_hints(ReadNames).keys():
        left_out = [f"`{name}`" for name in get_type_hints(ReadNames) if name not in named]
        return [f"The options of [`ReadNames`](#readnames) but for {', '.join(left_out)}."]
    return lines + [
        f"| `{name}` | `{_escaped(kind)}` | {defaults.get(name, '')} | {texts[name]} |"
        for name, kind in named.items()
    ]


def _meaning(value: Any) -> str:
    """Return the first paragraph of a docstring as Markdown, in one line."""
    return _markdown((inspect.getdoc(value) or "").split("\n\n")[0])


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


def _markdown(text: str) -> str:
    line = " ".join(text.split()).replace("``", "`").replace("|", "\\|")
    line = re.sub(r"\b(?:quirk )?Q(\d+)\b", r"[Q\1](quirks.md#q\1)", line)
    return line[:1].upper() + line[1:]


def _arguments(function: Any) -> str:
    """Return the arguments of a function without types and defaults."""
    names: list[str] = []
    keywords = False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not keywords:
            keywords = True
            names.append("*")
        if parameter.kind is parameter.VAR_KEYWORD:
            names.append(f"**{parameter.name}")
        else:
            names.append(parameter.name)
    return ", ".join(names)


def members(class_: type) -> dict[str, str]:
    """Return what is public of a class, functions with their arguments, and what each means."""
    found = dict(_attributes(class_))
    for name, member in inspect.getmembers(class_):
        if name.startswith("_") or not inspect.getdoc(member):
            continue
        if isinstance(member, property | cached_property):
            found[name] = _markdown((inspect.getdoc(member) or "").split("\n\n")[0])
        elif isinstance(member, FunctionType):
            found[f"{name}({_arguments(member)})"] = _meaning(member)
    return found


def _attributes(class_: type) -> Iterator[tuple[str, str]]:
    """Yield what docstrings list as attributes, those of base classes included."""
    for base in reversed(class_.__mro__):
        _, _, rest = inspect.cleandoc(base.__dict__.get("__doc__") or "").partition("Attributes:\n")
        for name, text in _items(_indented(rest)[0]):
            for each in name.split(", "):
                yield each, _markdown(text)


if __name__ == "__main__":
    main()
