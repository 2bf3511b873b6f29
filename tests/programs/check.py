"""Verify a path, and read what can be read of it: both name the same bytes."""

import sys

import kafkaspec as ks

path = sys.argv[1]
report = ks.verify(path)
errors: list[ks.KafkaSpecError] = []
with ks.open(path) as log:
    count = sum(1 for _ in log.records(on_error=errors.append))
for finding in report.findings:
    if finding.counts:
        print("finding", finding.reason, finding.position, finding.path)
for error in errors:
    print("error", error.reason, error.position, error.path)
print(report.clean, count)
