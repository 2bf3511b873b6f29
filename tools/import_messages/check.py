"""Compare the specification with the schemas of a release, version by version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import unified_diff

from kafkaspec.dumplog import decoders
from kafkaspec.layout import MessageLayout, Role
from kafkaspec.layout.names import FRAME_VERSION
from kafkaspec.messages.lookup import read_by, written_by
from kafkaspec.release import minor_of
from tools.import_messages.schema import Schema
from tools.import_messages.shape import Shape, of_schema, of_spec
from tools.import_messages.structure import frame_version
from tools.specgen.facts.messages import messages, number
from tools.specgen.model import Model

ELSEWHERE = {
    "AbortedTxn": "transaction_index.aborted_transaction",
    "ControlRecordTypeSchema": "control_record.control_record_key",
    "EndTxnMarker": "control_record.end_transaction_marker",
    "KRaftVersionRecord": "control_record.kraft_version_record",
    "LeaderChangeMessage": "control_record.leader_change_message",
    "ProducerSnapshot": "producer_snapshot.producer_snapshot",
    "SnapshotFooterRecord": "control_record.snapshot_footer_record",
    "SnapshotHeaderRecord": "control_record.snapshot_header_record",
    "VotersRecord": "control_record.voters_record",
}
"""Types for schemas whose format has another place in the specification, with the names there."""
TEXT = ("QuorumStateData",)
"""Schemas of what is a text of JSON on disk."""
NEVER_WRITTEN = {("LeaderChangeMessage", 1)}
"""Versions that no broker writes, and that the specification leaves out."""
BEFORE_KRAFT = {("LeaderChangeMessage", (2, 7))}
"""Formats of releases in which nobody could run what writes them."""
_ALL_SCHEMAS_SINCE = (2, 8)
"""First release that has a schema of each message."""
READ_LATER = {
    ("ShareGroupPartitionMetadataKey", (3, 9)), ("ShareGroupMemberMetadataKey", (3, 9)),
    ("ShareGroupMetadataKey", (3, 9)),
}  # fmt: skip
"""Keys in the jars of releases whose readers do not know them."""
READ_BEFORE = {"LegacyOffsetCommitKey"}
"""Keys that readers knew before they had their own schema."""
RENAMED = {
    (schema, old[0].upper() + old[1:]): new[0].upper() + new[1:]
    for (schema, new), (_, old) in decoders.RENAMED.items()
}
"""Names of today for those that an earlier release had in the same place, as schemas have them."""


def differences(model: Model, schemas: Mapping[str, Schema], release: str) -> Iterator[str]:
    """Yield what the specification has in another way than the schemas of a release.

    Args:
        model: the specification.
        schemas: all stored schemas of the release by name.
        release: its name; layouts that it wrote are compared, and what came later may be there.
    """
    layouts: dict[str, list[MessageLayout]] = {}
    for message in messages(model):
        layouts.setdefault(message.name, []).append(message)
    newest = release == newest_of(model, release)
    for name, schema in sorted(schemas.items()):
        if name in TEXT:
            continue
        known = layouts.get(name, [])
        if name in ELSEWHERE:
            minor = tuple(int(part) for part in release.split(".")[:2])
            for version in _versions(schema):
                if (name, version) not in NEVER_WRITTEN and (name, minor) not in BEFORE_KRAFT:
                    yield from _elsewhere(model, schema, version)
        elif not known:
            yield f"{name}: it is not in the specification; import it"
        else:
            yield from _message(model, schema, known, release, newest=newest)
    yield from _since(layouts, schemas, release)
    if newest:
        gone = [
            name
            for name, known in layouts.items()
            if name not in schemas and any(layout.releases is None for layout in known)
        ]
        yield from (f"{name}: the release has no such schema; write -releases" for name in gone)


def _since(
    layouts: Mapping[str, Sequence[MessageLayout]], schemas: Mapping[str, Schema], release: str
) -> Iterator[str]:
    """Yield the keys and records of which -since and -releases say something else than the jars."""
    minor = minor_of(release)
    if minor < _ALL_SCHEMAS_SINCE:
        return
    for name, known in layouts.items():
        here = bool(read_by(known, release))
        if known[0].role not in (Role.KEY, Role.RECORD) or name in READ_BEFORE:
            continue
        if here != (name in schemas and (name, minor) not in READ_LATER):
            knows = "knows it here, and not" if here else "does not know it here, and does"
            yield f"{name}: {release} {knows} in Kafka; see -since"


def newest_of(model: Model, release: str) -> str:
    """Return the release that files of the specification refer to last."""
    found = {
        reference.split("/blob/")[1].split("/")[0]
        for spec in model.specs
        if spec.is_message and spec.releases is None
        for reference in spec.doc_refs
    }
    return max(found or {release}, key=lambda name: [int(part) for part in name.split(".")])


def _versions(schema: Schema) -> range:
    return range(schema.versions.low, schema.latest + 1)


def _message(
    model: Model, schema: Schema, known: Sequence[MessageLayout], release: str, *, newest: bool
) -> Iterator[str]:
    name = schema.name
    chosen = written_by(known, release)
    if not chosen:
        yield f"{name}: no layout for {release}; import it"
        return
    (layout,) = chosen
    low, high = layout.versions
    least, latest = schema.versions.low, schema.latest
    if low > least or high < latest or (newest and _too_many(layout, schema)):
        yield f"{name}: versions {low} to {high}, Kafka has {least} to {latest}"
        return
    if schema.number is not None and layout.number != schema.number:
        yield f"{name}: number {layout.number}, Kafka has {schema.number}"
    frame = model.type(layout.key).field_by_id.get(FRAME_VERSION)
    if frame is not None and number(frame) != frame_version(release):
        yield f"{name}: frame {number(frame)}, Kafka has {frame_version(release)}"
    for version in _versions(schema):
        wanted = of_schema(schema, version)
        wanted = tuple(_renamed(name, field) for field in wanted)
        found = of_spec(model, model.type(layout.key), version)
        later = not newest or version < schema.latest
        yield from _compared(f"{name}, version {version}", wanted, found, later=later)


def _too_many(layout: MessageLayout, schema: Schema) -> bool:
    """Return whether a layout has versions that the newest release lacks, and names them."""
    return layout.versions[1] != schema.latest and bool(layout.topic)


def _renamed(schema: str, field: Shape) -> Shape:
    return replace(field, name=RENAMED.get((schema, field.name), field.name))


def _elsewhere(model: Model, schema: Schema, version: int) -> Iterator[str]:
    """Compare without names, which are those of the code there, and without defaults."""
    wanted = [_bare(field) for field in of_schema(schema, version)]
    found = [_bare(field) for field in of_spec(model, model.type(ELSEWHERE[schema.name]), version)]
    if len(found) == len(wanted) + 1:
        del found[0]  # the version, which not every schema has among its fields
    yield from _compared(f"{schema.name}, version {version}", wanted, found, later=False)


def _bare(field: Shape) -> Shape:
    fields = tuple(_bare(inner) for inner in field.fields)
    return replace(field, name="-", default="", fields=fields)


def _compared(
    what: str, wanted: Sequence[Shape], found: Sequence[Shape], *, later: bool
) -> Iterator[str]:
    """Yield a difference; tags that came later may be there, since no reader minds them."""
    if later:
        found = [_without_later(field, wanted) for field in _known(found, wanted)]
        wanted, found = ([_earlier(field) for field in side] for side in (wanted, found))
    kafka = [line for field in wanted for line in field.lines()]
    here = [line for field in found for line in field.lines()]
    if kafka != here:
        lines = list(unified_diff(kafka, here, lineterm="", n=0))[2:]
        changes = (f"\n  {line}" for line in lines if not line.startswith("@@"))
        yield f"{what}: Kafka (-) and the specification (+) differ{''.join(changes)}"


def _earlier(field: Shape) -> Shape:
    """Return a field without what no byte depends on: the default of what is always there."""
    fields = tuple(_earlier(inner) for inner in field.fields)
    return replace(field, default=field.default if field.tag is not None else "", fields=fields)


def _known(found: Sequence[Shape], wanted: Sequence[Shape]) -> list[Shape]:
    tags = {field.tag for field in wanted}
    return [field for field in found if field.tag is None or field.tag in tags]


def _without_later(field: Shape, wanted: Sequence[Shape]) -> Shape:
    for other in wanted:
        if other.name == field.name and other.fields:
            inner = [
                _without_later(item, other.fields) for item in _known(field.fields, other.fields)
            ]
            return replace(field, fields=tuple(inner))
    return field
