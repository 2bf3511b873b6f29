"""A testee that knows the answers, or does what its argument says instead.

    fake_testee.py MODE [PATTERN]    misbehave on cases whose id holds PATTERN

It shares no code with the library.
"""

import json
import os
import sys
import time

MODE = sys.argv[1] if len(sys.argv) > 1 else "good"
PATTERN = sys.argv[2] if len(sys.argv) > 2 else ""


def hello() -> dict[str, object]:
    return {
        "protocol": 7 if MODE == "other_protocol" else 1,
        "name": "fake",
        "version": "1",
        "kinds": ["transaction_index", "log"],
        "compression": ["none"],
        "checksums": False,
    }


def answer(request: dict[str, object]) -> dict[str, object]:
    if request["kind"] == "transaction_index":
        return {"entries": [{"producer_id": 4}]}
    return {"error": "does not look like a log"}


def misbehave(request: dict[str, object]) -> dict[str, object]:
    if MODE == "lies":
        return {"entries": [{"producer_id": 5}]}
    if MODE == "hangs":
        time.sleep(60)
    if MODE == "dies":
        print("my last words", file=sys.stderr, flush=True)
        os._exit(3)
    if MODE == "dies_at_length":
        print("cannot find module " * 100 + "end.", file=sys.stderr, end="", flush=True)
        os._exit(3)
    if MODE == "dies_half_way":
        os.write(1, b'{"id": ')
        os._exit(0)
    if MODE == "babbles":
        os.write(1, b"\x00\xff [hello\n")
    if MODE == "nests":
        os.write(1, b"[" * 100_000 + b"\n")
    if MODE == "other_id":
        os.write(1, b'{"id": "another", "entries": []}\n')
    if MODE == "no_answer":
        return {}
    if MODE == "two_answers":
        return {"entries": [], "error": "both"}
    if MODE == "no_list":
        return {"entries": 3}
    if MODE == "floods":
        chunk = b"x" * 65536
        while True:
            os.write(1, chunk)
    if MODE == "complains":
        os.write(2, b"x" * 1_000_000)
        return answer(request)
    if MODE == "skips":
        return {"skipped": "not today"}
    return answer(request)


for line in sys.stdin:
    asked = json.loads(line)
    if asked["kind"] == "hello":
        given = hello()
    elif PATTERN in asked["id"]:
        given = misbehave(asked)
    else:
        given = answer(asked)
    print(json.dumps({"id": asked["id"], **given}), flush=True)
