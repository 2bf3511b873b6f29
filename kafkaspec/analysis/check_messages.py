"""Check that the records of Kafka's own topics hold the messages that their types say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kafkaspec.analysis.consequences import of_message
from kafkaspec.analysis.findings import Area, Finding, Place
from kafkaspec.analysis.reasons import FindingReason as R
from kafkaspec.codecs import Origin, get_codec
from kafkaspec.errors import KafkaSpecError, Reason
from kafkaspec.log.batch import Batch
from kafkaspec.messages.decoding import decode_messages
from kafkaspec.model import Record


def check_messages(
    batch: Batch, records: Sequence[Record], topic: str, codec: str, file: str
) -> Iterator[Finding]:
    """Decode the keys and values of the records of a batch of data.

    Without the release that wrote them: any layout will do that the specification has.
    """
    at = Place(file, Area.INTERNAL_RECORD, batch.position)
    reader, origin = get_codec(codec), Origin()
    for record in records:
        try:
            decode_messages(topic, record, codec=reader, origin=origin)
        except KafkaSpecError as error:
            known = error.reason is not Reason.UNSUPPORTED_VERSION
            yield replace(
                _finding(at, error, record.offset, known=known),
                predicted=of_message(topic, known=known),
            )


def _finding(at: Place, error: KafkaSpecError, offset: int, *, known: bool) -> Finding:
    if not known:
        return at.warning(R.UNKNOWN_RECORD_TYPE, error.detail, offset=offset, path=error.path)
    part = error.path.split("/")[1]
    byte = "" if error.position is None else f" at its byte {error.position}"
    text = f"the {part} does not decode{byte}: {error.detail} [{error.reason}]"
    if error.spec:
        text += f" ({error.spec})"
    return at.error(R.UNDECODED_MESSAGE, text, offset=offset, path=error.path)
