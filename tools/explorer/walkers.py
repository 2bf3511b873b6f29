"""TypeScript that reads the records of a batch into columns, made from the layout of a record.

The classes of the official compiler make some objects for each field. Code made here makes none,
and takes only what those classes take: where it finds anything else, it stops, and they say what
is wrong.
"""

from __future__ import annotations

from kafkaspec._generated.layout import ENTRY_KINDS, LAYOUTS
from kafkaspec.layout import FieldLayout, Form, Kind, TypeLayout, varints
from kafkaspec.layout.framing import LOG_FRAMING

_GROUP = 7
_EXACT = 32
"""Bits of the numbers that operators on bits compute with; numbers of 53 bits are exact."""


class _UnsupportedError(Exception):
    """The layout has something that columns have no place for."""


def walkers() -> str:
    """Return a module with a function for each kind of batch that has records."""
    lines = [
        "/* eslint-disable */",
        "import type { Walker } from '../src/engine/log/walk';",
        "export const WALKERS: Record<string, Walker> = {",
    ]
    for kind in ENTRY_KINDS[LOG_FRAMING.entry].values():
        if not kind.record_set:
            continue
        framed = next(field.type for field in LAYOUTS[kind.record_set].fields if field.repeated)
        try:
            lines += _Walker(framed).lines(kind.key)
        except _UnsupportedError:
            continue
    return "\n".join([*lines, "};", ""])


class _Walker:
    """Writes the function for a type, and notes its columns."""

    def __init__(self, key: str) -> None:
        self._framed = key
        self._columns: dict[str, str] = {}
        self._items: dict[str, str] = {}
        self._code: list[str] = []
        self._names = 0

    def lines(self, key: str) -> list[str]:
        """Return the lines of a member for a batch of this type."""
        self._structure(LAYOUTS[self._framed], "", "row", self._columns, "stop")
        every = self._columns | self._items
        return [
            f"  '{key}': {{",
            f"    columns: {_object(self._columns)},",
            f"    items: {_object(self._items)},",
            "    walk(data, at, stop, most, c) {",
            *(f"      const {_local(name)} = c['{name}']!;" for name in ("end", *every)),
            "      const room = c['end']!.length;",
            "      let item = 0;",
            "      for (let row = 0; row < most; row++) {",
            *(f"        {line}" for line in self._code),
            f"        {_local('end')}[row] = at;",
            "      }",
            "      return most;",
            "    },",
            "  },",
        ]

    def _name(self) -> str:
        self._names += 1
        return f"v{self._names}"

    def _structure(
        self, layout: TypeLayout, prefix: str, index: str, columns: dict[str, str], end: str
    ) -> None:
        """Write the fields of a structure, which end at the latest where ``end`` says."""
        sizes: dict[str, str] = {}
        for field in layout.fields:
            if field.optional or field.kind is Kind.BITS:
                raise _UnsupportedError(field.id)
            if field.kind is Kind.GUARD:
                self._code.append(f"if (at !== {end}) return row;")
                continue
            if field.derive_plus and field.derive:
                raise _UnsupportedError(field.id)
            if field.repeated:
                self._repeated(field, prefix, index, columns, sizes[field.id], end)
                continue
            if field.id in sizes and field.kind is Kind.TYPE:
                self._code.append(f"const end{field.id} = at + {sizes[field.id]};")
                self._code.append(f"if (end{field.id} > {end}) return row;")
                self._structure(LAYOUTS[field.type], prefix, index, columns, f"end{field.id}")
                continue
            if field.kind is Kind.BYTES:
                self._bytes(prefix + field.id, index, columns, sizes[field.id], end, null=False)
                continue
            value = self._value(field, prefix, index, columns, end)
            if field.derive in ("len", "count"):
                self._code.append(f"if ({value} < 0) return row;")
                sizes[field.derive_from] = value

    def _value(
        self, field: FieldLayout, prefix: str, index: str, columns: dict[str, str], end: str
    ) -> str:
        """Write a number, or bytes with their size in front; return the name of the number."""
        name = prefix + field.id
        scalar = (
            field.type and LAYOUTS[field.type].form is Form.SCALAR and LAYOUTS[field.type].scalar
        )
        if scalar in ("bytes", "nullable_bytes"):
            length = LAYOUTS[field.type].fields[0]
            if length.derive != "len" or length.derive_plus:
                raise _UnsupportedError(field.id)
            size = self._number(length)
            self._bytes(name, index, columns, size, end, null=scalar == "nullable_bytes")
            return size
        value = self._number(field)
        if not field.derive:
            wide = scalar and varints.BITS[scalar] > _EXACT
            columns[name] = "Float64Array" if wide else "Int32Array"
            self._code.append(f"{_local(name)}[{index}] = {value};")
        return value

    def _bytes(
        self, name: str, index: str, columns: dict[str, str], size: str, end: str, *, null: bool
    ) -> None:
        columns[f"{name}.start"] = columns[f"{name}.size"] = "Int32Array"
        self._code += [
            f"if ({size} > {end} - at{'' if null else f' || {size} < 0'}) return row;",
            f"{_local(name + '.start')}[{index}] = at;",
        ]
        if null:
            self._code += [
                f"{_local(name + '.size')}[{index}] = {size} < 0 ? -1 : {size};",
                f"if ({size} > 0) at += {size};",
            ]
        else:
            self._code += [f"{_local(name + '.size')}[{index}] = {size};", f"at += {size};"]

    def _repeated(
        self,
        field: FieldLayout,
        prefix: str,
        index: str,
        columns: dict[str, str],
        count: str,
        end: str,
    ) -> None:
        if prefix or index != "row" or self._items or field.kind is not Kind.TYPE:
            raise _UnsupportedError(field.id)
        columns[f"{field.id}.first"] = columns[f"{field.id}.count"] = "Int32Array"
        self._code += [
            f"if ({count} > room - item) return row;",
            f"{_local(field.id + '.first')}[row] = item;",
            f"{_local(field.id + '.count')}[row] = {count};",
            f"for (let last = item + {count}; item < last; item++) {{",
            f"if (at > {end}) return row;",
        ]
        self._structure(LAYOUTS[field.type], f"{field.id}.", "item", self._items, end)
        self._code.append("}")

    def _number(self, field: FieldLayout) -> str:
        """Write an integer; return its name."""
        value = self._name()
        scalar = LAYOUTS[field.type].scalar if field.type else None
        if scalar in varints.SIGNED:
            self._varint(value, scalar)
        elif field.kind is Kind.INTEGER and field.signed and field.size * 8 <= _EXACT:
            bytes_ = " | ".join(
                f"data[at{f' + {byte}' if byte else ''}]! << {8 * (field.size - 1 - byte)}"
                for byte in range(field.size)
            )
            shift = _EXACT - 8 * field.size
            self._code.append(f"const {value} = (({bytes_}) << {shift}) >> {shift};")
            self._code.append(f"at += {field.size};")
        else:
            raise _UnsupportedError(field.id)
        return value

    def _varint(self, value: str, scalar: str) -> None:
        """Write an integer of variable length: the usual ones without a loop."""
        bits, low = varints.BITS[scalar], varints.MORE - 1
        byte, code = f"b{value}", f"c{value}"
        self._code += [f"let {byte} = data[at++]!;", f"let {code} = {byte} & {low};"]
        groups = range(1, min(varints.longest(scalar), -(-_EXACT // _GROUP) - (bits > _EXACT)))
        for group in groups:
            self._code += [
                f"if ({byte} > {low}) {{",
                f"{byte} = data[at++]!;",
                f"{code} |= ({byte} & {low}) << {_GROUP * group};",
            ]
        if bits <= _EXACT:
            self._code += [f"if ({byte} > {low}) return row;", "}" * len(groups)]
            self._code.append(f"const {value} = ({code} >>> 1) ^ -({code} & 1);")
            return
        scale = 1 << _GROUP * len(groups) + _GROUP
        self._code += [
            f"for (let scale = {scale}; {byte} > {low}; scale *= {1 + low}) {{",
            f"{byte} = data[at++]!;",
            f"{code} += ({byte} & {low}) * scale;",
            f"if ({code} > Number.MAX_SAFE_INTEGER) return row;",
            "}",
            "}" * len(groups),
            f"const {value} = {code} % 2 ? -(({code} + 1) / 2) : {code} / 2;",
        ]


def _local(name: str) -> str:
    return "_" + name.replace(".", "_")


def _object(columns: dict[str, str]) -> str:
    return "{ " + ", ".join(f"'{name}': {type_}" for name, type_ in columns.items()) + " }"
