"""Rebuild the files beside the segments of a partition, and say what differs."""

import sys

import kafkaspec as ks

source, target = sys.argv[1:]
report = ks.rebuild_indexes(source, target)
print(report.is_sound, len(report.segments), len(report.files))
