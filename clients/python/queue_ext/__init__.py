"""queue_ext - jobs sent and done with psycopg 3, by the PostgreSQL extension queue_ext.

- A claim is committed before the handler runs. The handler's connection is in no transaction until the
  handler executes a statement. The client completes the job in that transaction and commits: what the
  handler has written is committed exactly if the job is completed.
- An exception rolls back and fails the job, which is tried again after the queue's backoff. So does a
  connection that is lost before the answer to the commit: if the server has committed, the receipt
  is used up, and the failure changes nothing.
- A heartbeat extends the lease. Of a job that was taken over all the same, nothing is committed.
- A lost connection is made anew, with growing pauses. Any other error of the client's own statements,
  as after queue_drop, ends run() with that exception, once the other jobs under way are finished.
- So does an error of the first connection that no waiting mends, such as a wrong password.
- SIGTERM, SIGINT and stop(): jobs under way are finished, and no more are claimed.

All that is asked of the server is written once, as steps (_steps.py). Those of a handler that is a
plain function are taken in a thread, by a Connection; others are awaited, by an AsyncConnection.
"""

from __future__ import annotations

import asyncio
import copy
import inspect
import os
import signal
import threading
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import KW_ONLY, dataclass, field, fields
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple, Optional, TypedDict, TypeVar, Unpack, get_type_hints, overload

import psycopg
from psycopg import AsyncConnection, Connection
from psycopg.types.json import Jsonb

from ._errors import Fail, Release, Retry, ways_back
from ._link import Link
from ._steps import (THE_CLIENT, AnyConnection, AsyncJobConnection, JobConnection, Rows, Steps, begin, cancel, do,
                     has_no_place, is_of_data, log, of_job, roll_back, rows, set_autocommit)

__all__ = ["Fail", "Job", "Queue", "Release", "Retry", "run", "run_async", "stop", "worker"]

Handler = TypeVar("Handler", bound=Callable[..., Any])


class SendOptions(TypedDict, total=False):
    priority: int  # smaller goes first
    run_at: Optional[datetime]
    max_attempts: Optional[int]
    kind: Optional[str]
    expires_at: Optional[datetime]  # a job that no worker has started by then is not handed out
    expires_in: Optional[timedelta]


class OnceOptions(SendOptions, total=False):
    unique_by: Optional[Sequence[str]]
    period: Optional[timedelta]
    states: Optional[Sequence[str]]
    time_zone: Optional[str]
    on_conflict: Literal["keep", "replace", "postpone"]
    max_delay: Optional[timedelta]


class SentOnce(NamedTuple):
    id: int
    inserted: bool
    outcome: str  # inserted, kept, replaced or postponed


@dataclass(frozen=True)
class Queue:
    """A queue by its name. Jobs are sent through the caller's connection, and so in the caller's transaction. With an
    AsyncConnection the result is to be awaited."""

    name: str

    @overload
    def send(self, db: Connection[Any], payload: Any, **options: Unpack[SendOptions]) -> int: ...
    @overload
    def send(self, db: AsyncConnection[Any], payload: Any, **options: Unpack[SendOptions]) -> Awaitable[int]: ...
    def send(self, db: Any, payload: Any, **options: Any) -> Any:
        """Adds a job with a JSON payload, and returns its id."""
        return self._send(db, "queue_send", Jsonb(payload), options, SendOptions, lambda rows: rows[0]["id"])

    @overload
    def send_many(self, db: Connection[Any], payloads: Iterable[Any], **options: Unpack[SendOptions]) -> list[int]: ...
    @overload
    def send_many(self, db: AsyncConnection[Any], payloads: Iterable[Any],
                  **options: Unpack[SendOptions]) -> Awaitable[list[int]]: ...
    def send_many(self, db: Any, payloads: Iterable[Any], **options: Any) -> Any:
        """Adds a job for each payload, and returns their ids in that order."""
        array = [Jsonb(payload) for payload in payloads]
        return self._send(db, "queue_send_many", array, options, SendOptions, lambda rows: [row["id"] for row in rows])

    @overload
    def send_once(self, db: Connection[Any], payload: Any, **options: Unpack[OnceOptions]) -> SentOnce: ...
    @overload
    def send_once(self, db: AsyncConnection[Any], payload: Any,
                  **options: Unpack[OnceOptions]) -> Awaitable[SentOnce]: ...
    def send_once(self, db: Any, payload: Any, **options: Any) -> Any:
        """Adds a job unless there is the same one, or changes that. Returns the job's id, whether it was added, and what
        happened."""
        return self._send(db, "queue_unique_insert", Jsonb(payload), options, OnceOptions,
                          lambda rows: SentOnce(rows[0]["id"], rows[0]["inserted"], rows[0]["outcome"]))

    def _send(self, db: AnyConnection, function: str, payload: Any, options: dict[str, Any],
              known: Any, read: Callable[[Rows], Any]) -> Any:
        if wrong := options.keys() - get_type_hints(known).keys():
            raise TypeError(f"{function} has no argument {', '.join(wrong)}")
        values = [self.name, payload, *options.values()]
        named = "".join(f", {option} => %s" for option in options)
        return do(db, rows(db, f"select * from {function}(%s, %s{named}) as id", *values, read=read))


@dataclass(eq=False)
class Job:
    """A claim of a job, as queue_pop returns it. `lost`: the lease has run out, and another worker has the job.

    `progress` is set by the handler: how far it has got, as JSON. It is told with the next heartbeat.
    """

    queue: Queue
    id: int
    attempt: int
    payload: Any
    priority: int
    run_at: datetime
    max_attempts: int
    leased_until: datetime
    leased_by: Optional[str]
    last_error: Optional[str]
    created_at: datetime
    kind: Optional[str]
    lost: bool = field(default=False, init=False)
    progress: Any = field(default=None, init=False)
    _told: Any = field(default=None, init=False, repr=False)
    _is_handled: bool = field(default=False, init=False, repr=False)

    def _ask(self, db: AnyConnection, call: str, *more: Any) -> Steps[Any]:
        return rows(db, f"select {call}", self.queue.name, self.id, self.attempt, *more,
                     read=lambda rows: next(iter(rows[0].values())))

    def handle(self, db: AnyConnection, handler: Callable[..., Any]) -> Steps[Any]:
        self.payload = self.payload()
        try:
            result = yield handler(self, db)
            if inspect.isawaitable(result):
                raise TypeError("what a plain handler returns is to be awaited: is it to be async?")
            return result
        except (SystemExit, KeyboardInterrupt) as error:  # ends the job, not the client
            raise RuntimeError(f"the handler raised {error!r}") from error

    # The result is false if another worker has the job.
    def complete(self, db: AnyConnection, result: Any) -> Steps[bool]:
        self._is_handled = True
        return (yield from self._ask(
            db, "queue_complete(%s, %s, %s, %s)", None if result is None else Jsonb(result)))

    # A copy of the progress, if that is new.
    def _news(self) -> Any:
        try:
            return None if self.progress == self._told else copy.deepcopy(self.progress)
        except Exception:  # its handler is changing it, or it cannot be copied
            return None

    # Waits for no lock for long: other jobs' leases are extended by the same connection. A transaction that has
    # locked the row is about to complete the job. With the progress, if that is new; one that cannot be kept is refused
    # once, and then as if told.
    def extend(self, db: AnyConnection, lease: Optional[timedelta], is_alone: bool = False) -> Steps[bool]:
        progress = None if is_alone else self._news()
        more = [] if progress is None else [Jsonb(progress)]
        try:
            is_ours: bool = yield from self._ask(
                db, f"queue_extend(%s, %s, %s, %s{', %s' * len(more)}) from set_config('lock_timeout', '1s', true)",
                lease, *more)
        except psycopg.errors.LockNotAvailable:
            return True
        except Exception as why:
            if progress is None or not has_no_place(why):
                raise
            log.warning("the progress of job %s of %s is not kept: %s", self.id, self.queue.name, why)
            self._told = progress
            return (yield from self.extend(db, lease, is_alone=True))
        if progress is not None:
            self._told = progress
        return is_ours

    # Says what became of a job that was not completed. Changes nothing if another worker has it, or if the job was
    # completed and the answer lost.
    def give_back(self, db: AnyConnection, error: BaseException) -> Steps[None]:
        for call, *more in ways_back(error):
            try:
                return (yield from self._ask(db, call, *more))
            except Exception as why:
                if not is_of_data(why):
                    raise
                log.warning("job %s of %s: %s", self.id, self.queue.name, why)


@dataclass
class worker:
    """Registers a handler(job, connection) for a queue's jobs; its result, if not None, is the job's."""

    queue: Queue
    _: KW_ONLY
    kinds: Optional[Sequence[str]] = None
    concurrency: int = 1
    heartbeat: float = 10.0  # seconds; the lease should be some times that
    lease: Optional[timedelta] = None  # the queue's
    wait: timedelta = timedelta(minutes=1)  # for how long at a time a pop waits in the server

    def __post_init__(self) -> None:
        if not 0 < self.heartbeat < float("inf"):
            raise ValueError(f"a heartbeat comes after some seconds, not {self.heartbeat}")

    def __call__(self, handler: Handler) -> Handler:
        self.handler: Callable[..., Any] = handler
        workers.append(self)
        return handler

    # A role's statement_timeout may be shorter than the wait; and stop() cancels it.
    def pop(self, db: AnyConnection, name: str) -> Steps[Optional[Job]]:
        kinds = None if self.kinds is None else list(self.kinds)
        try:
            [row] = yield from rows(db, "call queue_pop_wait(%s, %s, lease => %s, worker => %s, kinds => %s)",
                                     self.queue.name, self.wait, self.lease, name, kinds)
        except psycopg.errors.QueryCanceled:
            return None
        return None if row["id"] is None else job_of(self.queue, row)

    # In a transaction that begins with the handler's first statement, and has no other once the handler has ended.
    def attempt(self, db: Any, job: Job) -> Steps[bool]:
        yield from set_autocommit(db, False)
        db.job, db.has_begun = job, False
        token = of_job.set(job)
        try:
            result = yield from job.handle(db, self.handler)
            yield from begin(db)
        finally:
            db.job = None
            of_job.reset(token)
        is_completed = yield from job.complete(db, result)
        yield db.commit() if is_completed else db.rollback()
        yield from set_autocommit(db, True)
        return is_completed


workers: list[worker] = []


def workers_of(handlers: Optional[Iterable[Callable[..., Any]]]) -> list[worker]:
    wanted = {one.handler for one in workers} if handlers is None else set(handlers)
    chosen = [one for one in workers if one.handler in wanted]
    if not chosen or wanted - {one.handler for one in chosen}:
        raise LookupError(f"not registered with @worker: {wanted or 'any handler'}")
    return chosen


def job_of(queue: Queue, row: dict[str, Any]) -> Job:
    return Job(queue, *(row[one.name] for one in fields(Job) if one.init and one.name != "queue"))


class _Run:
    def __init__(self, conninfo: str, name: str, workers: list[worker]) -> None:
        self.conninfo, self.name, self.workers = conninfo, name, workers
        self.loop, self.stopping = asyncio.get_running_loop(), asyncio.Event()
        self.threads = ThreadPoolExecutor(sum(worker.concurrency for worker in workers), "queue_ext")
        self.has_connected = False
        self.heart = Link(self, AsyncJobConnection)
        self.waiting: set[Link] = set()
        self.errors: list[Exception] = []

    def warn(self, text: str, *values: Any, **named: Any) -> None:
        log.warning("%s: " + text, self.name, *values, **named)

    async def serve_all(self) -> None:
        ends = asyncio.create_task(self.end_waits())
        await asyncio.gather(*(self.serve(worker) for worker in self.workers for _ in range(worker.concurrency)))
        await ends
        await self.heart.close()
        self.threads.shutdown()
        if self.errors:
            raise self.errors[0]

    # Does a job at a time. An error of its own ends the run, but not what others do.
    async def serve(self, worker: worker) -> None:
        of_job.set(THE_CLIENT)
        link = Link(self, AsyncJobConnection if inspect.iscoroutinefunction(worker.handler) else JobConnection)
        try:
            while not self.stopping.is_set():
                self.waiting.add(link)
                job = await link.ask(lambda db: worker.pop(db, self.name), over=self.stopping)
                self.waiting.discard(link)
                if job is None:
                    continue
                # It may have been claimed in the moment in which the wait was cancelled.
                error = Release() if self.stopping.is_set() else await self.attempt(link, worker, job)
                if job.lost:
                    self.warn("job %s of %s was taken over: its lease had run out", job.id, job.queue.name)
                elif error is not None:
                    await link.ask(lambda db: job.give_back(db, error))
        except Exception as error:
            self.warn("ends: %s", error)
            self.errors.append(error)
            self.stopping.set()
        finally:
            self.waiting.discard(link)
            await link.close()

    # The result is the error to give the job back with. The connection is in autocommit mode then, or closed.
    async def attempt(self, link: Link, worker: worker, job: Job) -> Optional[BaseException]:
        task = asyncio.create_task(link.take(worker.attempt(link.db, job)))
        beats = asyncio.create_task(self.beat(link, worker, job, task))
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            if link.kind is JobConnection:
                link.db = None  # its thread goes on, and is not to find the connection closed
            await cancel(task)
            raise
        finally:
            beats.cancel()
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if error is None:
            job.lost = not task.result()
            return None
        if not job.lost and not isinstance(error, (Retry, Fail, Release)):
            self.warn("job %s of %s failed", job.id, job.queue.name, exc_info=error)
        try:
            # psycopg 3.1 leaves the answer to a statement that was cancelled unread.
            await (link.close() if task.cancelled() else link.take(roll_back(link.db)))
        except psycopg.Error:
            await link.close()
        return error

    # A heartbeat that fails ends nothing: at worst the lease does.
    async def beat(self, link: Link, worker: worker, job: Job, task: asyncio.Task[bool]) -> None:
        while not job.lost:
            await asyncio.sleep(worker.heartbeat)
            try:
                is_ours = await self.heart.ask(lambda db: job.extend(db, worker.lease), limit=max(worker.heartbeat, 5))
            except Exception as error:
                self.warn("no heartbeat of job %s of %s: %s", job.id, job.queue.name, error)
                continue
            job.lost = not is_ours and not job._is_handled
            if job.lost and link.kind is AsyncJobConnection:
                task.cancel()

    # Again and again, as one may come before the wait that it is to end.
    async def end_waits(self) -> None:
        await self.stopping.wait()
        while self.waiting:
            await asyncio.gather(*(asyncio.to_thread(link.db.cancel) for link in self.waiting if link.db),
                                 return_exceptions=True)
            await asyncio.sleep(0.2)


_runs: set[_Run] = set()


async def run_async(conninfo: str = "", *, name: Optional[str] = None,
                    handlers: Optional[Iterable[Callable[..., Any]]] = None) -> None:
    """Does the jobs of all registered handlers, or of these, until stop() is called. To cancel it is to tell it to
    stop; to cancel it then is to cancel the handlers. leased_by shows the name."""
    run = _Run(conninfo, name or f"{os.uname().nodename} {os.getpid()}", workers_of(handlers))
    _runs.add(run)
    serving = asyncio.create_task(run.serve_all())
    try:
        await asyncio.shield(serving)
    except asyncio.CancelledError:
        if run.stopping.is_set():
            serving.cancel()
        run.stopping.set()
        await serving
        raise
    finally:
        _runs.discard(run)


def run(conninfo: str = "", *, name: Optional[str] = None,
        handlers: Optional[Iterable[Callable[..., Any]]] = None) -> None:
    """As run_async, in an event loop of its own, and until SIGTERM or SIGINT, too, where this is the main thread. A
    second SIGINT cancels handlers, if they are async, and raises KeyboardInterrupt."""
    numbers = (signal.SIGTERM, signal.SIGINT) if threading.current_thread() is threading.main_thread() else ()
    before = {number: signal.getsignal(number) for number in numbers}
    told: set[int] = set()

    async def until_told() -> None:
        task = asyncio.create_task(run_async(conninfo, name=name, handlers=handlers))

        def hear(number: int) -> None:
            stop()
            if number == signal.SIGINT and number in told:
                task.cancel()
            told.add(number)
        for number in numbers:
            asyncio.get_running_loop().add_signal_handler(number, hear, number)
        await task
    try:
        asyncio.run(until_told())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    finally:
        for number, handler in before.items():
            if handler is not None:  # else it is not one of Python's
                signal.signal(number, handler)


def stop() -> None:
    """Tells all runs of the process to stop, from any thread. Returns at once."""
    for run in list(_runs):
        run.loop.call_soon_threadsafe(run.stopping.set)
