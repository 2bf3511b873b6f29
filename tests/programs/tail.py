"""Follow a partition: print what is new each time that a line is read, until the input ends."""

import sys

import kafkaspec as ks

path = sys.argv[1]
following = 0
for _ in sys.stdin:
    with ks.Partition(path) as partition:
        for record in partition.records(following):
            print(record.offset, flush=True)
            following = record.offset + 1
    print("end", following, flush=True)
