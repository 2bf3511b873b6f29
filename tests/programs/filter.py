"""Print offsets of committed records that fulfil a condition, in a range of times."""

import sys

import kafkaspec as ks

path, condition, start = sys.argv[1:]
with ks.open(path) as log:
    reader = log.to_batches(
        ["offset", "timestamp"],
        where=condition,
        start_timestamp=start,
        isolation="read_committed",
        log_start="checkpoint",
    )
    print(reader.read_all()["offset"].to_pylist())
