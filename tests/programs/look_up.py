"""Find the first record at or after a time, in one partition by its name."""

import sys
from datetime import datetime

import kafkaspec as ks

logs, name, time = sys.argv[1:]
with ks.LogDirectory(logs) as log:
    try:
        partition = log[name]
    except KeyError as error:
        sys.exit(str(error))
    found = partition.find(timestamp=datetime.fromisoformat(time), plain=True)
    assert found.offset == partition.find(timestamp=time, plain=True).offset
    print(found.offset, found.timestamp)
