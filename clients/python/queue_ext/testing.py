"""queue_ext.testing - for the tests of programs that send jobs and handle them.

    with psycopg.connect() as connection:
        sign_up(connection, "ann@example.com")
        assert sent(connection, emails) == [{"to": "ann@example.com"}]
        run_due(connection)                     # send_email() does it, in this transaction
        assert sent(connection, emails) == []
        connection.rollback()
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Optional, overload

from psycopg import AsyncConnection, Connection, sql
from psycopg.pq import TransactionStatus

from . import Fail, Job, Queue, Release, Retry, job_of, worker, workers_of
from ._steps import AnyConnection, Steps, do, rows

Handlers = Optional[Iterable[Callable[..., Any]]]


@overload
def run_due(connection: Connection[Any], handlers: Handlers = None) -> list[Job]: ...


@overload
def run_due(connection: AsyncConnection[Any], handlers: Handlers = None) -> Awaitable[list[Job]]: ...


def run_due(connection: Any, handlers: Handlers = None) -> Any:
    """Does all jobs of the registered workers that are due, and those that these send, in the transaction of the
    connection, which must not be in autocommit mode. Returns them. What a handler raises is raised, but for Retry,
    Fail and Release: such a job is given back, or dead, after the others."""
    chosen = workers_of(handlers)
    if connection.autocommit and connection.info.transaction_status == TransactionStatus.IDLE:
        raise ValueError("run_due needs a transaction, and the connection is in autocommit mode")
    for one in chosen:
        if inspect.iscoroutinefunction(one.handler) != isinstance(connection, AsyncConnection):
            raise TypeError(f"{one.handler} needs a connection of the other kind")
    return do(connection, _run_due(connection, chosen))


def _run_due(connection: AnyConnection, workers: list[worker]) -> Steps[list[Job]]:
    done: list[Job] = []
    given_back: list[tuple[Job, Exception]] = []
    count = -1
    while len(done) > count:
        count = len(done)
        for worker in workers:
            while found := (yield from rows(connection, "select * from queue_pop(%s, lease => %s, kinds => %s)",
                                            worker.queue.name, worker.lease, worker.kinds)):
                job = job_of(worker.queue, found[0])
                done.append(job)
                yield connection.execute("savepoint queue_ext_job")
                try:
                    result = yield from job.handle(connection, worker.handler)
                    if not (yield from job.complete(connection, result)):
                        raise RuntimeError(f"job {job.id} of {job.queue.name} was taken from its handler")
                except (Retry, Fail, Release) as error:
                    yield connection.execute("rollback to savepoint queue_ext_job")
                    given_back.append((job, error))
                yield connection.execute("release savepoint queue_ext_job")
    for job, error in given_back:
        yield from job.give_back(connection, error)
    return done


@overload
def sent(connection: Connection[Any], queue: Queue) -> list[Any]: ...


@overload
def sent(connection: AsyncConnection[Any], queue: Queue) -> Awaitable[list[Any]]: ...


def sent(connection: Any, queue: Queue) -> Any:
    """The payloads of the jobs that wait in the queue, due or not, in the order in which they are claimed."""
    return do(connection, _sent(connection, queue))


def _sent(connection: AnyConnection, queue: Queue) -> Steps[list[Any]]:
    tables = yield from rows(connection, """
        select nspname, relname
        from queues, parse_ident(%s) as name, pg_class join pg_namespace on pg_namespace.oid = relnamespace
        where managed and pg_class.oid = source and parse_ident(queue) in (name, nspname::text || name)
            and (cardinality(name) = 2 or nspname = any (current_schemas(true)))
        order by array_position(current_schemas(true), nspname) limit 1""", queue.name)
    if not tables:
        raise LookupError(f"there is no managed queue {queue.name}")
    jobs = yield from rows(connection, sql.SQL("""
        select payload from {}
        where coalesce(leased_until <= clock_timestamp(), true) and coalesce(dead_at > clock_timestamp(), true)
        order by priority, run_at, id""").format(sql.Identifier(*tables[0].values())))
    return [row["payload"]() for row in jobs]
