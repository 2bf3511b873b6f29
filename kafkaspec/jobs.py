"""Do pieces of work in threads or processes, with the results in the order of the pieces.

Threads serve where the core works without the GIL, which is where the time goes in columns;
processes serve where Python works.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import suppress
from contextvars import Context, copy_context
from queue import Empty, Queue
from threading import Event
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

Item = TypeVar("Item")
Result = TypeVar("Result")


_THREADS: Final = "kafkaspec"
"""Begin of the names of the threads."""


class ProcessEndedError(RuntimeError):
    """A process that had work to do ended by itself, or was ended by the system."""


def at_work() -> bool:
    """Return whether a thread that began here has not ended; the end of Python waits for it."""
    return any(thread.name.startswith(_THREADS) for thread in threading.enumerate())


def cores() -> int:
    """Return the number of cores that this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_order(
    work: Callable[[Item], Result],
    items: Iterable[Item],
    jobs: int,
    *,
    stop: Callable[[], None] | None = None,
) -> Generator[Result, None, None]:
    """Yield the results of ``work`` in the order of the items.

    At most ``jobs`` + 1 items are worked on or wait as results, so memory is bounded by what one
    item takes. An error is raised in the place of its result; items after it may have been
    worked on. When the iterator is closed, nothing new begins.

    Args:
        work: function of an item; with more than one job it is called in threads, with the context
            variables of the caller.
        items: the items, taken in the thread of the caller when there is room for one.
        jobs: number of threads; with 1 the work is done in the thread of the caller.
        stop: called when the iterator ends or is closed, to end work that has begun, which is then
            waited for. Without it, such work goes on, and its results are dropped.
    """
    if jobs <= 1:
        yield from map(work, items)
        return
    from concurrent.futures import ThreadPoolExecutor

    pool = ThreadPoolExecutor(jobs, thread_name_prefix=_THREADS)
    tasks = ((copy_context(), work, item) for item in items)
    end = None if stop is None else lambda _: stop()
    yield from _ordered(pool, _in_context, tasks, jobs, end)


def _in_context(task: tuple[Context, Callable[[Item], Result], Item]) -> Result:
    context, work, item = task
    return context.run(work, item)


def in_context(context: Context, items: Iterator[Item]) -> Generator[Item, None, None]:
    """Yield the items of an iterator, which has the context variables of a copy of a context."""
    own, end = context.copy(), object()
    while (item := own.run(next, items, end)) is not end:
        yield cast(Item, item)


_INHERITED: Final[list[tuple[Callable[[], Any], Callable[[Any], None]]]] = []


def inherit(get: Callable[[], Any], put: Callable[[Any], None]) -> None:
    """Let the processes of ``in_processes`` begin with a setting of their caller.

    Args:
        get: returns the setting, which can be pickled.
        put: function of a module, which sets it.
    """
    _INHERITED.append((get, put))


def in_processes(
    work: Callable[[Item], Result], items: Iterable[Item], jobs: int
) -> Generator[Result, None, None]:
    """Yield the results of ``work`` in the order of the items, as ``in_order`` does.

    When the iterator is closed, or ends with an error, the other processes end at once.

    Args:
        work: function of a module, which with more than one job is called in other processes; items
            and results are pickled.
        items: the items, taken in the process of the caller.
        jobs: number of processes; with 1 the work is done in the process of the caller.

    Raises:
        ProcessEndedError: one of the processes ended before its work was done.
    """
    if jobs <= 1:
        yield from map(work, items)
        return
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    # A copy of a process with one thread has all modules; one with more may hold their locks.
    alone = sys.platform == "linux" and threading.active_count() == 1
    context = get_context("fork" if alone else "spawn")
    settings = [(put, get()) for get, put in _INHERITED]
    pool = ProcessPoolExecutor(jobs, context, _begin, (settings,))

    def end(done: bool) -> None:
        # They are waited for in any case: the end of Python disturbs those that are not.
        for process in () if done else tuple(pool._processes.values()):
            process.terminate()

    try:
        yield from _ordered(pool, work, items, jobs, end)
    except BrokenProcessPool:
        detail = "one of the processes ended before its work was done, perhaps for lack of memory"
        raise ProcessEndedError(f"{detail}; --jobs 1 needs none") from None


def _begin(settings: Iterable[tuple[Callable[[Any], None], Any]]) -> None:
    """Take over settings, and let Ctrl-C, which all processes of a terminal get, end this one."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    for put, value in settings:
        put(value)


def _ordered(
    pool: Executor,
    work: Callable[[Item], Result],
    items: Iterable[Item],
    jobs: int,
    end: Callable[[bool], None] | None,
) -> Generator[Result, None, None]:
    """See ``in_order``; ``end`` takes whether all was done."""
    waiting: deque[Future[Result]] = deque()
    done = False
    try:
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) > jobs:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
        done = True
    finally:
        if end is not None:
            end(done)
        pool.shutdown(wait=end is not None, cancel_futures=True)


def flows_in_order(
    work: Callable[[Item], Iterable[Result]], items: Iterable[Item], threads: int, most: int
) -> Generator[Result, None, None]:
    """Yield all results of each item in the order of the items, for items with many results.

    At most ``threads`` + 1 items are worked on or wait, each with at most ``most`` + 1 results, so
    memory is bounded however many an item has. Errors and closing are as in ``in_order``.

    Args:
        work: function that returns the results of an item, which are made in a thread.
        items: the items, taken in the thread of the caller when there is room for one.
        threads: number of threads; with 0 the work is done in the thread of the caller.
        most: results of an item that wait.
    """
    if threads < 1:
        for item in items:
            yield from work(item)
        return
    from concurrent.futures import ThreadPoolExecutor

    pool = ThreadPoolExecutor(threads, thread_name_prefix=_THREADS)
    waiting: deque[_Flow[Result]] = deque()
    try:
        for item in items:
            flow = _Flow[Result](most)
            waiting.append(flow)
            pool.submit(flow.fill, work, item)
            if len(waiting) > threads:
                yield from waiting[0].results()
                waiting.popleft()
        while waiting:
            yield from waiting[0].results()
            waiting.popleft()
    finally:
        for flow in waiting:
            flow.stop()
        pool.shutdown(wait=False, cancel_futures=True)


class _Flow(Generic[Result]):
    """The results of an item on their way from the thread that makes them."""

    def __init__(self, most: int) -> None:
        self._queue: Queue[list[Result] | BaseException | None] = Queue(most)
        self._stopped = Event()

    def fill(self, work: Callable[[Item], Iterable[Result]], item: Item) -> None:
        end: BaseException | None = None
        try:
            for result in work(item):
                self._queue.put([result])
                del result  # its memory can be freed when it was taken
                if self._stopped.is_set():
                    return
        except BaseException as error:
            end = error
        self._queue.put(end)

    def results(self) -> Generator[Result, None, None]:
        while (found := self._queue.get()) is not None:
            if isinstance(found, BaseException):
                raise found
            yield found.pop()

    def stop(self) -> None:
        """Let the thread end, which may wait for room."""
        self._stopped.set()
        with suppress(Empty):
            while True:
                self._queue.get_nowait()
