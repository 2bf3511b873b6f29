"""Decode the values of a topic by the schemas beside it, in three ways."""

import sys

import kafkaspec as ks

logs, topic = sys.argv[1:]
schemas = ks.SchemaLog.open(logs)
with ks.LogDirectory(logs) as log:
    rows = log.of_topic(topic)
    typed = rows.to_arrow(["offset", "value"], value="decode", schemas=schemas)
    raw = rows.to_arrow(["value"], layout="binary")["value"].combine_chunks()
found = ks.decode_values(raw, schemas=schemas)
print(typed.num_rows, found.values.equals(typed["value"].combine_chunks()), len(found.failures))
schema = schemas.schemas_of_topic(topic)[-1]
named = ks.decode_values(raw, schema, framing="confluent", schemas=schemas)
print(schema.subject, schema.version, named.values.type == found.values.type)
