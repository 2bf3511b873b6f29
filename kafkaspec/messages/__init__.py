"""Kafka's own messages: which one is in a record, and what it says.

Names are imported when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkaspec.lazy import attach

if TYPE_CHECKING:
    from kafkaspec._generated.layout.topics import Topic as Topic
    from kafkaspec.messages.decoding import Message as Message
    from kafkaspec.messages.decoding import decode_message as decode_message
    from kafkaspec.messages.decoding import decode_messages as decode_messages
    from kafkaspec.messages.lookup import by_name as by_name
    from kafkaspec.messages.lookup import in_topic as in_topic
    from kafkaspec.messages.lookup import written_by as written_by
    from kafkaspec.messages.topics import topic_of as topic_of
else:
    __getattr__, __dir__, __all__ = attach(__name__)
