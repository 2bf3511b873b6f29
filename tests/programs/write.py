"""Write records as a broker would, and read them again."""

import sys

import kafkaspec as ks

folder = sys.argv[1]
records = [ks.Record(offset, 1_700_000_000_000 + offset, b"k", b"v") for offset in range(5)]
with ks.SegmentWriter(folder, profile="4.0") as writer:
    writer.append_records(
        records[:3], compression="gzip", producer_id=7, producer_epoch=0, base_sequence=0
    )
    writer.append(ks.encode(records[3:], max_timestamp="2023-11-14T22:13:20.004Z"))
    print(writer.next_offset)
with ks.Partition(folder) as partition:
    assert list(partition.records()) == records
    for batch in partition.batches():
        print(batch.base_offset, batch.num_records, batch.compression_name, batch.producer_id)
