"""What is asked of the server, written once for psycopg's two kinds of connections.

Steps are a generator that yields what a method of the connection returns, and is sent its outcome:

    def count(db, table):
        cursor = yield db.execute(f"select count(*) from {table}")
        return (yield cursor.fetchone())[0]

    do(connection, count(connection, "emails"))              # with a Connection: the number
    await do(connection, count(connection, "emails"))        # with an AsyncConnection
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Generator
from contextlib import AbstractContextManager, asynccontextmanager
from datetime import datetime, timezone
from typing import Any, TypeVar

import psycopg
from psycopg import AsyncConnection, Connection
from psycopg.rows import dict_row
from psycopg.types.datetime import TimestamptzBinaryLoader

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
                               client_encoding="UTF8"))


def close(db: AnyConnection) -> Steps[None]:
    yield db.close()


def roll_back(db: AnyConnection) -> Steps[None]:
    yield db.rollback()
    yield from set_autocommit(db, True)


# A handler's connections. Where connection.transaction() is the first statement it would be a transaction of its own,
# committed before the job is completed: the job's begins first, then, and the block is a savepoint.
class _Guarded:
    has_job = False

    def commit(self) -> Any:
        if self.has_job:
            raise psycopg.ProgrammingError("the client commits what a handler has written, with the job's completion")
        return super().commit()  # type: ignore[misc]


class JobConnection(_Guarded, Connection[Any]):
    def transaction(self, *arguments: Any, **named: Any) -> AbstractContextManager[Any]:  # type: ignore[override]
        if self.has_job:
            self.execute("")
        return super().transaction(*arguments, **named)


class AsyncJobConnection(_Guarded, AsyncConnection[Any]):
    @asynccontextmanager
    async def transaction(self, *arguments: Any, **named: Any) -> AsyncIterator[Any]:
        if self.has_job:
            await self.execute("")
        async with super().transaction(*arguments, **named) as transaction:
            yield transaction
