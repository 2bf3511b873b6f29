"""Print the records of each partition of a log directory."""

import sys

import kafkaspec as ks

with ks.LogDirectory(sys.argv[1]) as log:
    for partition in log:
        count = sum(1 for _ in partition.records())
        print(partition.topic, partition.partition, count)
