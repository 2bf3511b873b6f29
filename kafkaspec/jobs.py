"""Do pieces of work in threads, with the results in the order of the pieces.

Threads serve where the core works without the GIL, which is where the time goes in columns.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def cores() -> int:
    """Return the number of cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows
        return os.cpu_count() or 1


def in_order(
    work: Callable[[Item], Result], items: Iterable[Item], jobs: int
) -> Generator[Result, None, None]:
    """Yield the results of ``work`` in the order of the items.

    At most ``jobs`` + 1 items are worked on or wait as results, so memory is bounded by what one
    item takes. An error is raised in the place of its result; items after it may have been
    worked on. When the iterator is closed, nothing new begins.

    Args:
        work: function of an item; with more than one job it is called in threads.
        items: the items, taken in the thread of the caller when there is room for one.
        jobs: number of threads; with 1 the work is done in the thread of the caller.
    """
    if jobs <= 1:
        yield from map(work, items)
        return
    pool = ThreadPoolExecutor(jobs, thread_name_prefix="kafkaspec")
    waiting: deque[Future[Result]] = deque()
    try:
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) > jobs:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
