"""What is asked of the server, written once for psycopg's two kinds of connections.

Steps are a generator that yields what a method of the connection returns, and is sent its outcome:

    def count(db, table):
        cursor = yield db.execute(f"select count(*) from {table}")
        return (yield cursor.fetchone())[0]

    do(connection, count(connection, "emails"))              # with a Connection: the number
    await do(connection, count(connection, "emails"))        # with an AsyncConnection
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
import re
import threading
import time
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import AbstractContextManager, aclosing, asynccontextmanager, suppress
from contextvars import ContextVar
from datetime import datetime, timezone
from functools import partial
from typing import Any, Optional, TypeVar

import psycopg
from psycopg import AsyncConnection, AsyncCursor, AsyncServerCursor, Connection, Cursor, ServerCursor
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row
from psycopg.types.datetime import TimestamptzBinaryLoader
from psycopg.types.json import JsonbBinaryLoader

log = logging.getLogger("queue_ext")
Result = TypeVar("Result")
Steps = Generator[Any, Any, Result]
Rows = list[dict[str, Any]]
AnyConnection = Connection[Any] | AsyncConnection[Any]


def do(db: AnyConnection, steps: Steps[Any]) -> Any:
    return (take_async if isinstance(db, AsyncConnection) else take)(steps)


def take(steps: Steps[Result]) -> Result:
    answer = None
    try:
        while True:
            answer = steps.send(answer)
    except StopIteration as end:
        return end.value


async def take_async(steps: Steps[Result]) -> Result:
    resume, answer = steps.send, None
    try:
        while True:
            asked = resume(answer)
            try:
                resume, answer = steps.send, await asked
            except BaseException as error:
                resume, answer = steps.throw, error
    except StopIteration as end:
        return end.value


# Binary, as psycopg reads times in text only where DateStyle is ISO.
def rows(db: AnyConnection, statement: Any, *parameters: Any, read: Callable[[Rows], Any] = list) -> Steps[Any]:
    cursor: Any = db.cursor(row_factory=dict_row, binary=True)
    cursor.adapters.register_loader("timestamptz", AnyTime)
    cursor.adapters.register_loader("jsonb", LaterJson)
    yield cursor.execute(statement, parameters)
    return read((yield cursor.fetchall()))


class LaterJson(JsonbBinaryLoader):  # a function that decodes it: what Python cannot read is an error of that job only
    def load(self, data: Any) -> Any:
        return partial(super().load, bytes(data))


class AnyTime(TimestamptzBinaryLoader):  # Python has none before the year 1 or after 9999; a job may have
    def load(self, data: Any) -> datetime:
        try:
            return super().load(data)
        except (psycopg.DataError, OverflowError):
            return (datetime.min if bytes(data)[0] & 0x80 else datetime.max).replace(tzinfo=timezone.utc)


def set_autocommit(db: Any, value: bool) -> Steps[None]:
    if isinstance(db, AsyncConnection):
        yield db.set_autocommit(value)
    else:
        db.autocommit = value


# Behind a transaction pooler a prepared statement may be on another connection.
def connect(kind: Any, conninfo: str, name: str, stopping: asyncio.Event) -> Steps[Any]:
    limit = {"connect_timeout": os.environ.get("PGCONNECT_TIMEOUT") or 10, **conninfo_to_dict(conninfo)}["connect_timeout"]
    db = yield kind.connect(conninfo, autocommit=True, prepare_threshold=None, application_name=name,
                            client_encoding="UTF8", connect_timeout=limit, cursor_factory=kind.job_cursor)
    db.stopping = stopping
    return db


# Whether it is an error of the configuration that no waiting mends. libpq does not say the SQLSTATE of an error of a
# connection: what a server says in another language is not recognized.
def is_refusal(error: psycopg.Error) -> bool:
    return bool(re.search(r"authentication failed|(database|role) \".*\" does not exist|no pg_hba.conf entry"
                          r"|is not permitted to log in|permission denied for database|no password supplied", str(error)))


# Of the data, as the server says, or the driver before it asks.
def is_of_data(error: Exception) -> bool:
    if isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError)):
        return False
    code = error.sqlstate if isinstance(error, psycopg.Error) else None
    return code is None or code.startswith("22")


# As above, or the queue's table, or the extension, has no place for what is told.
def has_no_place(error: Exception) -> bool:
    return is_of_data(error) or (isinstance(error, psycopg.Error) and error.sqlstate in ("55000", "42883"))


# Steps that end after so many seconds. A task may not end when it is told to once: psycopg waits for an answer then.
async def take_within(seconds: Optional[float], steps: Steps[Result]) -> Result:
    task = asyncio.ensure_future(take_async(steps))
    try:
        await asyncio.wait([task], timeout=seconds)
        is_late = not task.done()
    finally:
        await cancel(task)
    if is_late:
        raise psycopg.errors.ConnectionFailure(f"no answer in {seconds:g} s")
    return task.result()


async def cancel(task: asyncio.Future[Any]) -> None:
    while not task.done():
        task.cancel()
        await asyncio.wait([task], timeout=1)


def close(db: AnyConnection) -> Steps[None]:
    yield db.close()


def roll_back(db: AnyConnection) -> Steps[None]:
    yield db.rollback()
    yield from set_autocommit(db, True)


# For ever, or for five seconds more once the run is told to stop: a lease does the rest.
def pauses(stopping: Optional[asyncio.Event] = None) -> Iterator[float]:
    pause, end = 0.1, float("inf")
    while time.monotonic() < end:
        if stopping is not None and stopping.is_set():
            end = min(end, time.monotonic() + 5)
            pause = min(pause, 1)
        yield pause * random.uniform(0.5, 1)
        pause = min(2 * pause, 10)


# Whose statement it is: a job's, which is inherited by the tasks of its handler; the client's own; or, in a thread that
# a handler has started, nobody's.
of_job: ContextVar[Any] = ContextVar("queue_ext_job", default=None)
THE_CLIENT = object()


# What a handler has left behind must not write without a job, nor in another's transaction.
def _check(db: Any) -> None:
    mine = of_job.get()
    if mine is not THE_CLIENT and (db.job is None or mine not in (None, db.job)):
        raise psycopg.InterfaceError("the job is over")


# A job's transaction begins with the first statement of its handler. Until then a connection that is lost is made anew:
# nothing has been done by it since the claim.
def begin(db: Any) -> Steps[None]:
    why: Any = None
    for pause in pauses(db.stopping):
        _check(db)
        if db.job is None or db.has_begun:
            return
        try:
            yield db.plain_cursor(db).execute("")
            db.has_begun = True
        except psycopg.OperationalError as error:
            if not db.closed:
                raise
            log.warning("no connection, trying again: %s", error)
            why = error
            yield db.reset_in(pause)
    raise why


def _reset(db: AnyConnection) -> None:
    with suppress(psycopg.OperationalError):
        db.pgconn.reset()
        db.pgconn.nonblocking = 1


# A handler's connections. Where connection.transaction() is the first statement it would be a transaction of its own,
# committed before the job is completed: the job's begins first, then, and the block is a savepoint.
class _Guarded:
    job: Any = None
    has_begun = False
    stopping: Optional[asyncio.Event] = None

    def commit(self) -> Any:
        if self.job is not None:
            raise psycopg.ProgrammingError("the client commits what a handler has written, with the job's completion")
        return super().commit()  # type: ignore[misc]

    def rollback(self) -> Any:
        _check(self)
        return super().rollback()  # type: ignore[misc]


class _GuardedCursor:
    def execute(self, *arguments: Any, **named: Any) -> Any:
        take(begin(self.connection))  # type: ignore[attr-defined]
        return super().execute(*arguments, **named)  # type: ignore[misc]

    def executemany(self, *arguments: Any, **named: Any) -> Any:
        take(begin(self.connection))  # type: ignore[attr-defined]
        return super().executemany(*arguments, **named)  # type: ignore[misc]

    def copy(self, *arguments: Any, **named: Any) -> Any:
        take(begin(self.connection))  # type: ignore[attr-defined]
        return super().copy(*arguments, **named)  # type: ignore[misc]

    def stream(self, *arguments: Any, **named: Any) -> Any:
        take(begin(self.connection))  # type: ignore[attr-defined]
        return super().stream(*arguments, **named)  # type: ignore[misc]


class _Cursor(_GuardedCursor, Cursor[Any]):
    pass


class _ServerCursor(_GuardedCursor, ServerCursor[Any]):
    pass


# Where a reset and a close meet, the close waits: libpq frees what the other uses.
class JobConnection(_Guarded, Connection[Any]):
    job_cursor, plain_cursor = _Cursor, Cursor

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.server_cursor_factory = _ServerCursor
        self.resetting = threading.Lock()

    def reset_in(self, pause: float) -> None:
        time.sleep(pause)
        with self.lock, self.resetting:
            _check(self)
            if self.closed:
                _reset(self)

    def close(self) -> None:
        with self.resetting:
            super().close()

    def transaction(self, *arguments: Any, **named: Any) -> AbstractContextManager[Any]:  # type: ignore[override]
        take(begin(self))
        return super().transaction(*arguments, **named)


class _GuardedAsyncCursor:
    async def execute(self, *arguments: Any, **named: Any) -> Any:
        await take_async(begin(self.connection))  # type: ignore[attr-defined]
        return await super().execute(*arguments, **named)  # type: ignore[misc]

    async def executemany(self, *arguments: Any, **named: Any) -> Any:
        await take_async(begin(self.connection))  # type: ignore[attr-defined]
        return await super().executemany(*arguments, **named)  # type: ignore[misc]

    @asynccontextmanager
    async def copy(self, *arguments: Any, **named: Any) -> AsyncIterator[Any]:
        await take_async(begin(self.connection))  # type: ignore[attr-defined]
        async with super().copy(*arguments, **named) as copy:  # type: ignore[misc]
            yield copy

    async def stream(self, *arguments: Any, **named: Any) -> AsyncIterator[Any]:
        await take_async(begin(self.connection))  # type: ignore[attr-defined]
        async with aclosing(super().stream(*arguments, **named)) as found:  # type: ignore[misc]
            async for row in found:
                yield row


class _AsyncCursor(_GuardedAsyncCursor, AsyncCursor[Any]):
    pass


class _AsyncServerCursor(_GuardedAsyncCursor, AsyncServerCursor[Any]):
    pass


class AsyncJobConnection(_Guarded, AsyncConnection[Any]):
    job_cursor, plain_cursor = _AsyncCursor, AsyncCursor

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.server_cursor_factory = _AsyncServerCursor
        self.resetting = asyncio.Lock()

    # A thread does not end when a task that waits for it is cancelled.
    async def reset_in(self, pause: float) -> None:
        await asyncio.sleep(pause)
        async with self.lock, self.resetting:
            _check(self)
            if self.closed:
                thread = asyncio.ensure_future(asyncio.to_thread(_reset, self))
                try:
                    await asyncio.shield(thread)
                finally:
                    while not thread.done():
                        with suppress(asyncio.CancelledError):
                            await asyncio.wait([thread])

    async def close(self) -> None:
        async with self.resetting:
            await super().close()

    @asynccontextmanager
    async def transaction(self, *arguments: Any, **named: Any) -> AsyncIterator[Any]:
        await take_async(begin(self))
        async with super().transaction(*arguments, **named) as transaction:
            yield transaction
