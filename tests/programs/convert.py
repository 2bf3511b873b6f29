"""Write a partition again with zstd, and say whether all of it is there."""

import sys

import kafkaspec as ks

source, target = sys.argv[1:]
report = ks.convert(source, target, magic=2, compression="zstd", segment_bytes=1 << 20)
for partition in report.partitions:
    print(partition.batches, partition.written_segments, partition.verified)
with ks.Partition(target) as written:
    codecs = {batch.compression_name for batch in written.batches() if not batch.is_control}
print(report.clean, sorted(codecs))
