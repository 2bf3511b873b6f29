"""Check the options of public functions: words of enumerations, and names; say which there are."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, wraps
from inspect import Parameter, isclass, signature
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    TypeVar,
    Union,
    Unpack,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
    overload,
)

from kafkaspec.shown import some_of, warned

FORMER_WORDS: Final[Mapping[str, Mapping[str, str]]] = {
    "crc": {"error": "raise", "flag": "ignore"},
    "markers": {"from": "state"},
    "on_error": {"fail": "raise"},
    "on_unreadable": {"fail": "raise"},
    "on_value_error": {"fail": "raise", "keep": "column"},
    "tail": {"error": "raise", "stop": "skip"},
}
"""Options with former words, and what these are now. Python, the command and Spark accept them with
a warning until the next minor version."""

FORMER_NAMES: Final = {
    "control": "include_control",
    "errors": "on_value_error",
    "recursion": "depth",
    "on_message": "on_value_error",
}
"""Former names of options, likewise; where an option still has such a name, it is another one."""

FORMER_NAMES_OF: Final = {"read_cluster": {"at": "end_offset"}}
"""Former names of options of one function, where others have an option of that name."""


@dataclass(frozen=True, slots=True)
class Option:
    """Meaning and names of an option, beside its type: ``Annotated[type, Option(...)]``.

    Attributes:
        text: what it does, in a sentence: the help of the command, and the tables in the docs.
        command: its name in the command, "" if it has none.
        spark: its name in Spark, likewise.
        more: what only readers of the API have to know.
    """

    text: str
    command: str = ""
    spark: str = ""
    more: str = ""


T = TypeVar("T", bound=Callable[..., Any])


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """Return ``; did you mean ...?`` with the nearest of the known words, or "" without one."""
    # Case first: a word in capitals is far from all others by its letters.
    folded = {word.casefold(): word for word in known}
    near = get_close_matches(given.casefold(), folded, 3, 0.6)
    return f"; did you mean {' or '.join(repr(folded[word]) for word in near)}?" if near else ""


def one_of(option: str, given: object, words: Iterable[object]) -> ValueError:
    """Return the error of a word that an option does not have."""
    known = [str(word) for word in words]
    return ValueError(
        f"{option} must be one of {', '.join(known)}, not {given!r}"
        + did_you_mean(str(given), known)
    )


def not_there(what: str, name: object, known: Iterable[Any]) -> str:
    """Return the sentence that says that nothing has a name, with the nearest names that there are.

    Args:
        what: the kind of thing: ``group``.
        name: the name that was asked for, or a number.
        known: those that there are; the first ones are listed where none is near.
    """
    there = sorted(set(known))
    text = f"there is no {what} {name!r}"
    if not there:
        return f"{text}, and no other"
    near = did_you_mean(name, there) if isinstance(name, str) else ""
    verb = "is" if len(there) == 1 else "are"
    return text + (near or f"; there {verb} {some_of([repr(each) for each in there])}")


class UnknownNameError(KeyError):
    """A name is unknown; the text, shown without quotes, lists the known ones."""

    def __str__(self) -> str:
        return str(self.args[0])


def deprecated(name: str, instead: str) -> None:
    """Warn the caller of a public name that something takes its place."""
    warned(f"{name} is deprecated: take {instead}", DeprecationWarning)


@overload
def checked(item: T) -> T: ...
@overload
def checked(*, own: bool) -> Callable[[T], T]: ...
def checked(item: Any = None, *, own: bool = False) -> Any:
    """Check the options of a public function, method or dataclass each time it is called.

    The annotations say which words there are: those of ``Literal``, also beside other types or as
    items of a collection, and those in a typed dictionary that ``**options: Unpack[...]`` names.

    Args:
        item: the function or class.
        own: whether its ``**options`` are left alone, since what takes them checks them.

    Raises (when the function is called):
        ValueError: an enumerated option has another value; it names the option and its words.
        TypeError: there is no such option; it names the function, not one that it calls.
    """
    if item is None:
        return lambda function: _checked(function, function.__name__, own=own)
    if isclass(item):
        call = _checked(item.__init__, item.__name__, homes=item.__mro__)
        call.__module__ = item.__module__
        setattr(item, "__init__", call)  # noqa: B010  # a type checker lets no method be replaced
        return item
    return _checked(item, item.__qualname__.removesuffix(".__init__").rpartition(".")[2])


def _checked(
    function: Callable[..., Any], name: str, *, own: bool = False, homes: tuple[type, ...] = ()
) -> Callable[..., Any]:
    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        rules = _rules(call, own, homes)
        for option in rules.former.keys() & options.keys():
            now = rules.former[option]
            deprecated(f"the option {option!r} of {name}()", repr(now))
            if now in options:
                raise TypeError(f"{name}() has {option!r} and {now!r}, which are one option")
            options[now] = options.pop(option)
        for option, value in options.items():
            rule = rules.by_name.get(option)
            if rule is not None:
                word = FORMER_WORDS.get(option, {}).get(value) if isinstance(value, str) else None
                if word in rule.words and value not in rule.words:
                    deprecated(f"{option}={value!r}", repr(word))
                    options[option] = word
                else:
                    rule.check(option, value)
            elif rules.closed and option not in rules.names:
                raise TypeError(
                    f"{name}() has no option {option!r}; it takes {', '.join(rules.names)}"
                    + did_you_mean(option, rules.names)
                )
        for option, value in zip(rules.positional, args, strict=False):
            if option in rules.by_name:
                rules.by_name[option].check(option, value)
        return function(*args, **options)

    return call


@dataclass(frozen=True, slots=True)
class _Rule:
    """The values of an enumerated option: words, and values of other types."""

    words: tuple[object, ...]
    types: tuple[type, ...]
    functions: bool
    items: bool

    def check(self, option: str, value: object) -> None:
        if self.items and isinstance(value, Iterable) and not isinstance(value, str):
            for item in value:
                self._check(option, item)
        else:
            self._check(option, value)

    def _check(self, option: str, value: object) -> None:
        if isinstance(value, self.types) or (self.functions and callable(value)):
            return
        if not any(value == word and type(value) is type(word) for word in self.words):
            raise one_of(option, value, self.words)


@dataclass(frozen=True, slots=True)
class _Rules:
    """The options of a function."""

    by_name: Mapping[str, _Rule]
    names: tuple[str, ...]
    positional: tuple[str, ...]
    closed: bool
    """Whether ``names`` are all: no ``**options`` takes others."""
    former: Mapping[str, str]
    """Names that have a former one, by that."""


@cache
def _rules(function: Callable[..., Any], own: bool, homes: tuple[type, ...] = ()) -> _Rules:
    """Return the rules of a function as it is called, of its ``**options`` unless left alone.

    A class has the attributes of its bases too, whose annotations have the names of their modules.
    """
    space: dict[str, Any] = {}
    for module in (*(base.__module__ for base in reversed(homes)), function.__module__):
        space |= vars(sys.modules[module])
    by_name: dict[str, _Rule] = {}
    names: list[str] = []
    positional: list[str] = []
    closed = True
    for name, parameter in signature(function).parameters.items():
        annotation = _evaluated(parameter.annotation, space)
        if parameter.kind is Parameter.VAR_KEYWORD:
            keys = get_args(annotation)[0] if get_origin(annotation) is Unpack else None
            closed = is_typeddict(keys) and not own
            if closed:
                for option, kind in get_type_hints(keys).items():
                    names.append(option)
                    _add(by_name, option, kind)
            continue
        if parameter.kind is not Parameter.KEYWORD_ONLY:
            positional.append(name)
        if name != "self":
            names.append(name)
        _add(by_name, name, annotation)
    every = FORMER_NAMES | FORMER_NAMES_OF.get(function.__name__, {})
    former = {old: new for old, new in every.items() if new in names and old not in names}
    return _Rules(by_name, tuple(names), tuple(positional), closed, former)


@cache
def options_of(keys: type) -> dict[str, tuple[Any, Any]]:
    """Return the types of the options of a typed dictionary, and what it says beside them."""
    return {
        name: (kind.__origin__, kind.__metadata__[0])
        for name, kind in get_type_hints(keys, include_extras=True).items()
        if get_origin(kind) is Annotated
    }


def explained(keys: type) -> Callable[[T], T]:
    """Put what options do into a docstring, in place of its line ``...``, as they are defined.

    Args:
        keys: the typed dictionary with their definitions.
    """

    def add(function: T) -> T:
        first, line, rest = (function.__doc__ or "").partition("...\n")
        indent = first[first.rfind("\n") + 1 :]
        texts = (f"{name}: {said.text} {said.more}" for name, (_, said) in options_of(keys).items())
        if line:  # none with ``python -OO``
            function.__doc__ = first + f"\n{indent}".join(map(str.rstrip, texts)) + f"\n{rest}"
        return function

    return add


def names_of(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of all that a function takes, former ones too."""
    rules = _rules(function, False)
    return (*rules.names, *rules.former)


def _evaluated(annotation: object, space: Mapping[str, object]) -> object:
    """Return the type that an annotation names; None for one that only type checkers import."""
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, dict(space))  # our own annotations, never input
    except (NameError, AttributeError):
        return None


def _add(by_name: dict[str, _Rule], name: str, annotation: object) -> None:
    parts = _alternatives(annotation)
    items = len(parts) == 1 and get_origin(parts[0]) in (Collection, Sequence)
    if items:
        parts = _alternatives(get_args(parts[0])[0])
    words = [word for part in parts for word in words_of(part)]
    others = [part for part in parts if get_origin(part) is not Literal]
    if not words or str in others:
        return
    by_name[name] = _Rule(
        tuple(words),
        tuple(part for part in others if isinstance(part, type)),
        any(get_origin(part) is Callable for part in others),
        items,
    )


def words_of(annotation: object) -> tuple[str, ...]:
    """Return the words that an option of a type may have."""
    parts = (part for part in _alternatives(annotation) if get_origin(part) is Literal)
    return tuple(word for part in parts for word in get_args(part))


def _alternatives(annotation: object) -> list[object]:
    if get_origin(annotation) is None or get_origin(annotation) is Literal:
        return [NoneType if annotation is None else annotation]
    if get_origin(annotation) in (Union, UnionType):
        return [found for part in get_args(annotation) for found in _alternatives(part)]
    return [annotation]
