"""Print the offsets that groups have committed, the last one of each place."""

import sys

import kafkaspec as ks

last: dict[tuple[str, str, int], int] = {}
with ks.LogDirectory(sys.argv[1]) as log:
    for row in log.topic_messages("OffsetCommit", on_value_error="column").read_all().to_pylist():
        key, value = row["key"], row["value"]
        if row["error"] is None and value is not None:
            last[key["group"], key["topic"], key["partition"]] = value["offset"]
for (group, topic, partition), offset in sorted(last.items()):
    print(group, topic, partition, offset)
