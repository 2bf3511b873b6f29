"""Text files of a log directory, from what the specification says of their keys.

A sound file is written first; then each key gets each form of a value that its type has, and each
format what it can be broken by. So the verdict follows, and no reader is asked.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final
from uuid import UUID

from kafkaspec._generated.layout.texts import TEXTS
from kafkaspec.conformance.cases import Case, Items, Refusal
from kafkaspec.conformance.protocol import RequestKind
from kafkaspec.errors import Reason
from kafkaspec.files.checkpoints.kafka_uuid import to_text
from kafkaspec.files.checkpoints.text import BITS
from kafkaspec.layout import TextFormat, TextKey, TextLayout

_VERSION: Final = "version"
_MISSING: Final = object()
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz0123456789"


@dataclass(frozen=True)
class ValueForm:
    """A form of a value.

    Attributes:
        name: of the form: ``maximum``.
        written: the text, a JSON value, or ``_MISSING``.
        value: what it is read as, in the form of an answer.
        reason: why it is refused, None if it is not.
    """

    name: str
    written: Any
    value: Any = None
    reason: Reason | None = None


def text_goals() -> list[str]:
    """Return the goals of text files: files, versions, keys, and the forms of their values."""
    found = []
    for name, layout in TEXTS.items():
        found.append(f"text {name}")
        for version in layout.versions:
            found.append(f"text {name}, version {version}")
            for key in _keys(layout, version):
                found += [_goal(name, key, form) for form in _forms(layout, key, version)]
        found += [f"text {name}: {what}" for what in _BROKEN[layout.format]]
    return list(dict.fromkeys(found))


def text_cases(chance: Random) -> Iterator[Case]:
    """Yield the cases of all text files."""
    for name, layout in TEXTS.items():
        yield from _TextCases(name, layout, chance).all()


def random_text(case_id: str, name: str, chance: Random, times: Counter[str]) -> Case:
    """Return a case of a text file: forms of values by chance, at most one of them refused.

    Args:
        case_id: its id.
        name: of the file.
        chance: chooses.
        times: how often there was each form, which is counted here.
    """
    return _TextCases(name, TEXTS[name], chance).by_chance(case_id, times)


def rarest(names: Iterable[str], times: Mapping[str, int], chance: Random) -> str:
    """Return one of some names by chance, the more likely the rarer it was."""
    found = list(names)
    least = min(times.get(name, 0) for name in found)
    weights = [1 / (1 + times.get(name, 0) - least) ** 2 for name in found]
    return chance.choices(found, weights)[0]


def _keys(layout: TextLayout, version: int) -> list[TextKey]:
    return [key for key in layout.keys if version in key.versions]


def _goal(name: str, key: TextKey, form: ValueForm) -> str:
    return f"text {name}/{key.key}: {form.name}"


# -- forms of values -----------------------------------------------------------------------------


def _forms(layout: TextLayout, key: TextKey, version: int) -> Iterator[ValueForm]:
    """Yield the forms of a value of a key, without those that follow from a seed."""
    if key.attribute == _VERSION:
        yield from _versions(layout, key, version)
    else:
        json_ = layout.format is TextFormat.JSON
        yield from _json_forms(key) if json_ else _text_forms(layout, key)
    if layout.format in (TextFormat.JSON, TextFormat.PROPERTIES):
        first = key.attribute == _VERSION and key.versions[0] not in key.required
        if not first:
            why = Reason.INVALID_VALUE if version in key.required else None
            yield ValueForm("missing", _MISSING, None, why)


def _versions(layout: TextLayout, key: TextKey, version: int) -> Iterator[ValueForm]:
    """Yield versions; others than the last one would need other keys."""
    plain: Any = int if layout.format is TextFormat.JSON else str
    yield ValueForm("known", plain(version), version)
    last = layout.versions[-1]
    for name, number in (("below", layout.versions[0] - 1), ("above", last + 1)):
        if layout.knows(number):
            yield ValueForm(name, plain(number), number)
        else:
            yield ValueForm(name, plain(number), None, Reason.UNSUPPORTED_VERSION)
    bits = BITS[key.type]
    largest = (1 << bits - 1) - 1
    if layout.newer:
        yield ValueForm("maximum", plain(largest), largest)
    # Kafka takes the lower 16 bits of any number in JSON, and 0 for what is none.
    if layout.format is not TextFormat.JSON:
        yield ValueForm("too large", str(largest + 1), None, Reason.INVALID_VALUE)
        yield ValueForm("letters", "one", None, Reason.INVALID_VALUE)


def _text_forms(layout: TextLayout, key: TextKey) -> Iterator[ValueForm]:
    wrong = Reason.INVALID_VALUE
    if key.type in BITS:
        most = 1 << BITS[key.type] - 1
        for name, number in (("minimum", -most), ("zero", 0), ("maximum", most - 1)):
            yield ValueForm(name, str(number), number)
        for name, text, read in (
            ("plus", "+7", 7), ("leading zeros", f"{7:030}", 7), ("minus zero", "-0", 0),
        ):  # fmt: skip
            yield ValueForm(name, text, read)
        if layout.format is not TextFormat.PROPERTIES:  # which are ISO 8859-1
            yield ValueForm("other digits", "\u0664\u0662", 42)
        for name, text in (
            ("below", str(-most - 1)), ("above", str(most)), ("fraction", "7.0"),
            ("exponent", "1e3"), ("hexadecimal", "0x7"), ("sign alone", "-"), ("letters", "seven"),
        ):  # fmt: skip
            yield ValueForm(name, text, None, wrong)
    elif key.type == "uuid":
        yield from _ids(key)
    else:
        yield ValueForm("one letter", "a", "a")
        yield ValueForm("long", "x" * 249, "x" * 249)
        if layout.format is TextFormat.PROPERTIES:
            yield ValueForm("empty", "", "")
            yield ValueForm("blank at the end", "a ", "a ")
            yield ValueForm("escape", "\\u0041\\:", "A:")
            yield ValueForm("not ASCII", "\u00e4", "\u00e4")
            yield ValueForm("wrong escape", "\\u00g0", None, wrong)
        else:
            yield ValueForm("not ASCII", "\u00e4\U0001f600", "\u00e4\U0001f600")
            yield ValueForm("no letter", ":", ":")


def _ids(key: TextKey) -> Iterator[ValueForm]:
    wrong = Reason.INVALID_VALUE
    text = to_text(UUID(int=(1 << 127) + (1 << 80) + 5))
    zero = to_text(UUID(int=0))
    yield ValueForm("padded", f"{text}==", text)
    # The last letter has two bits of the id, and four that are not used.
    yield ValueForm("unused bits", f"{text[:-1]}{_after(text[-1])}", text)
    yield ValueForm("zero", zero, None if key.nonzero else zero, wrong if key.nonzero else None)
    for name, said in (
        ("short", text[:-1]), ("long", f"{text}A"), ("other letter", f"+{text[1:]}"),
        ("hexadecimal", str(UUID(int=1 << 80))), ("one pad", f"{text}="),
    ):  # fmt: skip
        yield ValueForm(name, said, None, wrong)


def _after(letter: str) -> str:
    """Return a letter of base64 with the same two first bits."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    return alphabet[alphabet.index(letter) + 1]


def _json_forms(key: TextKey) -> Iterator[ValueForm]:
    for form in _json_values(key):
        if not key.item:
            yield form
        else:
            value = None if form.reason else [form.value]
            yield ValueForm(form.name, [{key.item: form.written}], value, form.reason)
    wrong = Reason.INVALID_VALUE
    yield ValueForm("null", None, None, None if key.nullable else wrong)
    if key.item:
        yield ValueForm("no item", [], [])
        yield ValueForm("another key", [{key.item: 1, "other": [1]}], [1])
        for name, written in (
            ("item without key", [{}]), ("number as item", [1]), ("null as item", [None]),
            ("text", "1"), ("object", {key.item: 1}),
        ):  # fmt: skip
            yield ValueForm(name, written, None, wrong)


def _json_values(key: TextKey) -> Iterator[ValueForm]:
    wrong = Reason.INVALID_VALUE
    if key.type in BITS:
        most = 1 << BITS[key.type] - 1
        for name, number in (("minimum", -most), ("zero", 0), ("maximum", most - 1)):
            yield ValueForm(name, number, number)
        others: list[tuple[str, Any]] = [
            ("below", -most - 1), ("above", most), ("fraction", 7.5), ("as text", "7"),
            ("boolean", True), ("list", [7]),
        ]  # fmt: skip
    elif key.type == "uuid":
        yield from _ids(key)
        others = [("number", 7)]
    else:
        for name, text in (("empty", ""), ("not ASCII", "\u00e4"), ("quote", '"\\')):
            yield ValueForm(name, text, text)
        others = [("number", 7), ("list", [])]
    for name, written in others:
        yield ValueForm(name, written, None, wrong)


# -- files ---------------------------------------------------------------------------------------

_BROKEN: Final[Mapping[TextFormat, Sequence[str]]] = {
    TextFormat.CHECKPOINT: (
        "no byte", "version alone", "no entry", "no line end", "other line ends", "other blanks",
        "blank at the end", "twice", "blank before", "empty line", "field too few",
        "field too many", "count below", "count above", "count negative", "count too large",
        "count of letters", "version above", "version negative", "version of letters",
        "not UTF-8", "empty line at the end",
    ),
    TextFormat.LINES: (
        "line end", "other line ends", "other names", "more blanks", "more lines", "no byte",
        "line missing", "no blank", "no colon", "value missing", "two values", "not UTF-8",
    ),
    TextFormat.JSON: (
        "line end", "blanks", "other order", "another key", "later lines", "rest of the line",
        "no byte", "cut", "list", "letters", "NaN",
    ),
    TextFormat.PROPERTIES: (
        "comments", "other separators", "other line ends", "continued", "another key", "twice",
        "no line end",
    ),
}  # fmt: skip
"""Faults of a format, and other ways to write it."""


class _TextCases:
    """Maker of the cases of one file.

    Args:
        name: of the file.
        layout: what the specification says of it.
        chance: chooses values.
    """

    def __init__(self, name: str, layout: TextLayout, chance: Random) -> None:
        self._name, self._layout, self._chance = name, layout, chance
        self._given: set[str] = set()

    def all(self) -> Iterator[Case]:
        """Yield all cases of the file."""
        for version in self._layout.versions:
            sound = self._sound(version)
            covers = (f"text {self._name}", f"text {self._name}, version {version}")
            data, _ = self._file(version, [sound])
            yield self._case(f"sound.{version}", data, self._items([sound]), "All keys.", covers)
            for key in _keys(self._layout, version):
                for form in _forms(self._layout, key, version):
                    yield self._with(version, key, form)
        version = self._layout.versions[-1]
        made = _MAKERS[self._layout.format](self, version)
        for what, data, expected in made:
            why = f"{what[0].upper()}{what[1:]}."
            yield self._case(
                f"{what.replace(' ', '_')}", data, expected, why, (f"text {self._name}: {what}",)
            )

    def by_chance(self, case_id: str, times: Counter[str]) -> Case:
        """Return a case with forms by chance, of which one at most is refused."""
        version = self._chance.choice(self._layout.versions)
        checkpoint = self._layout.format is TextFormat.CHECKPOINT
        rows = [self._sound(version) for _ in range(self._chance.randrange(4) if checkpoint else 1)]
        reasons: list[tuple[int, TextKey, ValueForm]] = []
        for number, row in enumerate(rows):
            for key in _keys(self._layout, version):
                forms = {
                    _goal(self._name, key, form): form
                    for form in _forms(self._layout, key, version)
                }
                goal = rarest(forms, times, self._chance)
                form = forms[goal]
                refused = form.reason is not None
                if (
                    key.attribute == _VERSION
                    or (refused and reasons)
                    or self._chance.random() < 0.6
                ):
                    continue
                row[key.key] = form
                times[goal] += 1
                if refused:
                    reasons.append((number, key, form))
        data, places = self._file(version, rows)
        if reasons:
            ((number, key, form),) = reasons
            expected: Items | Refusal = self._refusal(form, key, places[number], len(data), number)
        else:
            expected = self._items(rows)
        return self._made(case_id, data, expected, "A text file.", ())

    # -- one value --------------------------------------------------------------------------------

    def _with(self, version: int, key: TextKey, form: ValueForm) -> Case:
        """Return the case of a file in which one key has a form."""
        rows = [self._sound(version)]
        at = 0
        if self._layout.format is TextFormat.CHECKPOINT:
            rows, at = [self._sound(version) for _ in range(3)], 1
        rows[at][key.key] = form
        data, places = self._file(version, rows)
        expected: Items | Refusal = (
            self._items(rows)
            if form.reason is None
            else self._refusal(form, key, places[at], len(data), at)
        )
        why = f"{key.key}: {form.name}."
        suffix = f"{key.key}.{form.name.replace(' ', '_')}.{version}"
        return self._case(suffix, data, expected, why, (_goal(self._name, key, form),))

    def _refusal(
        self, form: ValueForm, key: TextKey, places: Mapping[str, int], end: int, entry: int
    ) -> Refusal:
        path = f"/{key.key}"
        if self._layout.format is TextFormat.CHECKPOINT:
            path = f"/entries/{entry}/{key.attribute}"
        elif self._layout.format is TextFormat.LINES:
            path = f"/{key.attribute}"
        elif form.name == "wrong escape":
            path = ""
        reasons = frozenset({form.reason} if form.reason else ())
        missing = 0 if self._layout.format is TextFormat.JSON else end
        return Refusal(reasons, path, places.get(key.key, missing))

    def _sound(self, version: int) -> dict[str, ValueForm]:
        """Return a form of each key that is accepted."""
        return {key.key: self._plain(key, version) for key in _keys(self._layout, version)}

    def _plain(self, key: TextKey, version: int) -> ValueForm:
        chance, json_ = self._chance, self._layout.format is TextFormat.JSON
        value: Any
        if key.attribute == _VERSION:
            value = version
        elif key.type in BITS:
            value = chance.randrange(1 << BITS[key.type] - 2)
        elif key.type == "uuid":
            value = to_text(UUID(int=chance.randrange(1 << 100, 1 << 128)))
        else:
            value = "".join(chance.choices(_LETTERS, k=chance.randint(3, 12)))
            if value in self._given:
                return self._plain(key, version)
            self._given.add(value)
        if key.item:
            return ValueForm("plain", [{key.item: value}, {key.item: 3}], [value, 3])
        return ValueForm("plain", value if json_ else str(value), value)

    def _items(self, rows: Sequence[Mapping[str, ValueForm]]) -> Items:
        """Return what the answer must say: offsets sorted, the last one of each partition."""
        said = [
            {key.attribute: row[key.key].value for key in self._layout.keys if key.key in row}
            for row in rows
        ]
        names = [key.attribute for key in self._layout.keys if key.type in ("topic", "s4")]
        if "topic" in names:
            last = {(row["topic"], row["partition"]): row for row in said}
            said = [last[place] for place in sorted(last)]
        return Items(said)

    # -- the bytes --------------------------------------------------------------------------------

    def _file(
        self, version: int, rows: Sequence[Mapping[str, ValueForm]]
    ) -> tuple[bytes, list[dict[str, int]]]:
        """Return a file, and where the value or line of each key is, for each entry."""
        if self._layout.format is TextFormat.CHECKPOINT:
            data = f"{version}\n{len(rows)}\n".encode()
            found = []
            for row in rows:
                places = {}
                for number, key in enumerate(self._layout.keys):
                    data += b" " if number else b""
                    places[key.key] = len(data)
                    data += row[key.key].written.encode()
                found.append(places)
                data += b"\n"
            return data, found
        (row,) = rows
        there = {name: form.written for name, form in row.items() if form.written is not _MISSING}
        if self._layout.format is TextFormat.JSON:
            data = json.dumps(there, ensure_ascii=False, separators=(",", ":")).encode()
            return data, [{name: data.index(f'"{name}":'.encode()) for name in there}]
        places, data = {}, b""
        for name, written in there.items():
            if self._layout.format is TextFormat.LINES:
                data += b"\n" if data else b""
                data += f"{name}: ".encode()
            places[name] = len(data)
            if self._layout.format is TextFormat.PROPERTIES:
                data += f"{name}={written}\n".encode("latin-1")
            else:
                data += written.encode()
        return data, [places]

    def _case(
        self, suffix: str, data: bytes, expected: Items | Refusal, why: str, covers: tuple[str, ...]
    ) -> Case:
        return self._made(f"text/{self._name}/{suffix}", data, expected, why, covers)

    def _made(
        self,
        case_id: str,
        data: bytes,
        expected: Items | Refusal,
        why: str,
        covers: tuple[str, ...],
    ) -> Case:
        return Case(
            case_id, RequestKind.TEXT, data, expected, why, {"file": self._name}, covers=covers
        )

    # -- what formats can be broken by ------------------------------------------------------------

    def checkpoint(self, version: int) -> Iterator[tuple[str, bytes, Items | Refusal]]:
        """Yield checkpoints, as ``_BROKEN`` lists them."""
        rows = [self._sound(version) for _ in range(3)]
        data, _ = self._file(version, rows)
        items, nothing = self._items(rows), Items([])
        head, lines = f"{version}\n3\n".encode(), data.splitlines(keepends=True)[2:]
        body = b"".join(lines)
        second = len(head) + len(lines[0])
        wrong = Reason.INVALID_VALUE
        yield "no byte", b"", nothing
        yield "version alone", b"0\n", nothing
        yield "no entry", b"0\n0\n", nothing
        yield "no line end", data[:-1], items
        yield "other line ends", data.replace(b"\n", b"\r").replace(b"\r", b"\r\n", 2), items
        yield "other blanks", head + body.replace(b" ", b"\t \x0b\x0c"), items
        yield "blank at the end", head + body.replace(b"\n", b" \t\n"), items
        yield "twice", f"{version}\n6\n".encode() + 2 * body, self._items([*rows, *rows])
        entry = "/entries/1"
        yield "blank before", head + lines[0] + b" " + lines[1] + lines[2], _at(
            wrong, entry, second
        )  # fmt: skip
        yield "empty line", head + lines[0] + b"\n" + lines[2], _at(wrong, entry, second)
        short = lines[1].rsplit(b" ", 1)[0] + b"\n"
        yield "field too few", head + lines[0] + short + lines[2], _at(wrong, entry, second)
        long = lines[1][:-1] + b" 1\n"
        yield "field too many", head + lines[0] + long + lines[2], _at(wrong, entry, second)
        place = len(f"{version}\n")
        for what, text, reason in (
            ("below", "2", wrong), ("above", "4", Reason.TRUNCATED), ("negative", "-1", wrong),
            ("too large", str(1 << 31), wrong), ("of letters", "three", wrong),
        ):  # fmt: skip
            yield f"count {what}", f"{version}\n{text}\n".encode() + body, _at(
                reason, "/count", place
            )  # fmt: skip
        for what, text, reason in (
            ("above", str(self._layout.versions[-1] + 1), Reason.UNSUPPORTED_VERSION),
            ("negative", "-1", Reason.UNSUPPORTED_VERSION), ("of letters", "zero", wrong),
        ):  # fmt: skip
            yield f"version {what}", f"{text}\n3\n".encode() + body, _at(reason, "/version", 0)
        yield "not UTF-8", head + lines[0] + b"\xff" + lines[1] + lines[2], _at(wrong, "", second)
        yield "empty line at the end", data + b"\n", Refusal(frozenset({wrong}))

    def lines(self, version: int) -> Iterator[tuple[str, bytes, Items | Refusal]]:
        """Yield files of lines, as ``_BROKEN`` lists them."""
        row = self._sound(version)
        data, _ = self._file(version, [row])
        items = self._items([row])
        first, second = data.split(b"\n")
        names = [key.attribute for key in self._layout.keys]
        wrong = Reason.INVALID_VALUE
        yield "line end", data + b"\n", items
        yield "other line ends", first + b"\r\n" + second + b"\r", items
        values = [line.split(b": ")[1] for line in (first, second)]
        yield "other names", b"a: " + values[0] + b"\n: " + values[1], items
        yield "more blanks", data.replace(b": ", b": \t \x0b"), items
        yield "more lines", data + b"\nand: others\n", items
        yield "no byte", b"", _at(Reason.TRUNCATED, f"/{names[0]}", 0)
        yield "line missing", first, _at(Reason.TRUNCATED, f"/{names[1]}", len(first))
        place = len(first) + 1
        for what, line in (
            ("no blank", second.replace(b": ", b":")), ("no colon", second.replace(b":", b"")),
            ("value missing", second.split(b": ")[0] + b": "), ("two values", second + b": 1"),
        ):  # fmt: skip
            yield what, first + b"\n" + line, _at(wrong, f"/{names[1]}", place)
        yield "not UTF-8", first + b"\n\xff" + second, _at(wrong, "", place)

    def json(self, version: int) -> Iterator[tuple[str, bytes, Items | Refusal]]:
        """Yield files of JSON, as ``_BROKEN`` lists them."""
        row = self._sound(version)
        data, _ = self._file(version, [row])
        items, wrong = self._items([row]), frozenset({Reason.INVALID_VALUE})
        there = json.loads(data)
        yield "line end", data + b"\n", items
        yield "blanks", json.dumps(there, indent=2).replace("\n", " ").encode(), items
        yield "other order", json.dumps(dict(reversed(there.items()))).encode(), items
        yield "another key", json.dumps(there | {"other": {"a": [1]}}).encode(), items
        yield "later lines", data + b"\n{\xc3", items
        yield "rest of the line", data + b" {}", items
        yield "no byte", b"", _at(Reason.TRUNCATED, "", 0)
        yield "cut", data[:-1], Refusal(wrong)
        yield "list", b"[" + data + b"]", Refusal(wrong)
        yield "letters", b"state", Refusal(wrong)
        name = next(iter(there))
        yield "NaN", json.dumps(there | {name: float("nan")}).encode(), Refusal(wrong)

    def properties(self, version: int) -> Iterator[tuple[str, bytes, Items | Refusal]]:
        """Yield properties, as ``_BROKEN`` lists them."""
        row = self._sound(version)
        data, _ = self._file(version, [row])
        items, lines = self._items([row]), data.splitlines()
        yield "comments", b"#\n! a = b\n\n" + data, items
        colons = [line.replace(b"=", (b" : ", b"\t", b" ")[n % 3]) for n, line in enumerate(lines)]
        yield "other separators", b"\n".join(colons) + b"\n", items
        yield "other line ends", data.replace(b"\n", b"\r"), items
        broken = lines[0][:-2] + b"\\\n   " + lines[0][-2:]
        yield "continued", b"\n".join([broken, *lines[1:]]), items
        yield "another key", data + b"another=1\n", items
        yield "twice", lines[-1].split(b"=")[0] + b"=other\n" + data, items
        yield "no line end", data[:-1], items


_MAKERS: Final = {
    TextFormat.CHECKPOINT: _TextCases.checkpoint,
    TextFormat.LINES: _TextCases.lines,
    TextFormat.JSON: _TextCases.json,
    TextFormat.PROPERTIES: _TextCases.properties,
}


def _at(reason: Reason, path: str, position: int) -> Refusal:
    return Refusal(frozenset({reason}), path, position)
