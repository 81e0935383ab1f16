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
import random
import time
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, suppress
from datetime import datetime, timezone
from typing import Any, TypeVar

import psycopg
from psycopg import AsyncConnection, AsyncCursor, Connection, Cursor
from psycopg.rows import dict_row
from psycopg.types.datetime import TimestamptzBinaryLoader

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
    yield cursor.execute(statement, parameters)
    return read((yield cursor.fetchall()))


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
def connect(kind: Any, conninfo: str, name: str) -> Steps[Any]:
    return (yield kind.connect(conninfo, autocommit=True, prepare_threshold=None, application_name=name,
                               client_encoding="UTF8", cursor_factory=kind.job_cursor))


def close(db: AnyConnection) -> Steps[None]:
    yield db.close()


def roll_back(db: AnyConnection) -> Steps[None]:
    yield db.rollback()
    yield from set_autocommit(db, True)


def pauses() -> Iterator[float]:
    pause = 0.1
    while True:
        yield pause * random.uniform(0.5, 1)
        pause = min(2 * pause, 10)


# A job's transaction begins with the first statement of its handler. Until then a connection that is lost is made anew:
# nothing has been done by it since the claim.
def _begin(db: Any) -> Steps[None]:
    for pause in pauses():
        if not db.has_job or db.has_begun:
            return
        try:
            yield db.plain_cursor(db).execute("")
            db.has_begun = True
        except psycopg.OperationalError as error:
            if not db.closed:
                raise
            log.warning("no connection, trying again: %s", error)
            yield db.reset_in(pause)


def _reset(db: AnyConnection) -> None:
    with suppress(psycopg.OperationalError):
        db.pgconn.reset()
        db.pgconn.nonblocking = 1


# A handler's connections. Where connection.transaction() is the first statement it would be a transaction of its own,
# committed before the job is completed: the job's begins first, then, and the block is a savepoint.
class _Guarded:
    has_job = has_begun = False

    def commit(self) -> Any:
        if self.has_job:
            raise psycopg.ProgrammingError("the client commits what a handler has written, with the job's completion")
        return super().commit()  # type: ignore[misc]


class _Cursor(Cursor[Any]):
    def execute(self, *arguments: Any, **named: Any) -> Any:
        take(_begin(self.connection))
        return super().execute(*arguments, **named)


class JobConnection(_Guarded, Connection[Any]):
    job_cursor, plain_cursor = _Cursor, Cursor

    def reset_in(self, pause: float) -> None:
        time.sleep(pause)
        _reset(self)

    def transaction(self, *arguments: Any, **named: Any) -> AbstractContextManager[Any]:  # type: ignore[override]
        take(_begin(self))
        return super().transaction(*arguments, **named)


class _AsyncCursor(AsyncCursor[Any]):
    async def execute(self, *arguments: Any, **named: Any) -> Any:
        await take_async(_begin(self.connection))
        return await super().execute(*arguments, **named)


class AsyncJobConnection(_Guarded, AsyncConnection[Any]):
    job_cursor, plain_cursor = _AsyncCursor, AsyncCursor

    async def reset_in(self, pause: float) -> None:
        await asyncio.sleep(pause)
        await asyncio.to_thread(_reset, self)

    @asynccontextmanager
    async def transaction(self, *arguments: Any, **named: Any) -> AsyncIterator[Any]:
        await take_async(_begin(self))
        async with super().transaction(*arguments, **named) as transaction:
            yield transaction
