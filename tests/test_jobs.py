"""Work in threads and processes: the order of the results, errors in their place, and bounds."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import pytest

from kafkaspec.io.local import are_mapped, unmapped
from kafkaspec.jobs import flows_in_order, in_order, in_processes


def square(item: int) -> int:
    return item * item


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2, 5])
@pytest.mark.parametrize("run", [in_order, in_processes])
def test_results_come_in_the_order_of_the_items(run: Callable[..., Any], jobs: int) -> None:
    assert list(run(square, range(100), jobs)) == [item * item for item in range(100)]


def divide(item: int) -> int:
    return 10 // (item - 3)


@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.parametrize("run", [in_order, in_processes])
def test_an_error_comes_after_the_results_before_it(run: Callable[..., Any], jobs: int) -> None:
    results = run(divide, range(10), jobs)
    assert list(islice(results, 3)) == [10 // -3, 10 // -2, 10 // -1]
    with pytest.raises(ZeroDivisionError):
        next(results)


@pytest.mark.slow
def test_processes_are_others() -> None:
    assert set(in_processes(own, range(4), 1)) == {os.getpid()}
    assert os.getpid() not in set(in_processes(own, range(4), 2))


def own(_: int) -> int:
    return os.getpid()


def test_items_wait_until_there_is_room() -> None:
    """So that memory is bounded however slowly results are taken."""
    items = iter(range(1000))
    results = in_order(lambda item: item, items, 2)
    assert list(islice(results, 5)) == [0, 1, 2, 3, 4]
    assert next(items) <= 5 + 2


def test_work_is_done_at_the_same_time() -> None:
    meet = threading.Barrier(3, timeout=300)
    assert len(list(in_order(lambda _: meet.wait(), range(3), 3))) == 3


@pytest.mark.parametrize("threads", [0, 1, 2, 5])
def test_flows_come_in_the_order_of_the_items(threads: int) -> None:
    found = list(flows_in_order(range, range(40), threads, 3))
    assert found == [number for item in range(40) for number in range(item)]


@pytest.mark.parametrize("threads", [0, 1, 3])
def test_an_error_ends_a_flow(threads: int) -> None:
    def work(item: int) -> Iterator[int]:
        yield item
        yield 10 // (item - 2)

    results = flows_in_order(work, range(10), threads, 2)
    assert list(islice(results, 5)) == [0, 10 // -2, 1, 10 // -1, 2]
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_a_flow_waits_until_there_is_room() -> None:
    made = 0

    def work(_: int) -> Iterator[int]:
        nonlocal made
        for number in range(1000):
            made += 1
            yield number

    results = flows_in_order(work, range(3), 2, 4)
    assert next(results) == 0
    time.sleep(0.05)
    assert made <= 3 * (4 + 2)
    before = threading.active_count()
    results.close()
    deadline = time.monotonic() + 60
    while threading.active_count() >= before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() < before


def test_threads_have_the_context_of_the_caller() -> None:
    assert are_mapped()
    with unmapped():
        assert list(in_order(lambda _: are_mapped(), range(4), 2)) == [False] * 4
    assert list(in_order(lambda _: are_mapped(), range(4), 2)) == [True] * 4


def test_work_that_has_begun_is_stopped_and_waited_for() -> None:
    stopped, ended = threading.Event(), []

    def work(item: int) -> int:
        if item:
            stopped.wait(timeout=300)
            ended.append(item)
        return item

    results = in_order(work, range(100), 3, stop=stopped.set)
    assert next(results) == 0
    results.close()
    assert stopped.is_set()
    assert 0 < len(ended) <= 3
