"""What test/clients/run does with the client for Python: client.py sync|async send|due|work NAME.

A handler does what the payload says, {"do": ...}; NAME is the worker's and, before _a and _b, the queues'.
"""

import asyncio
import os
import pathlib
import sys
import time
from datetime import datetime, timedelta, timezone

import psycopg
from queue_ext import Fail, Queue, Release, Retry, run, run_async, worker
from queue_ext.testing import run_due, sent

kind, mode, name = sys.argv[1:]
a, b = Queue(f"{name}_a"), Queue(f"{name}_b")
area = pathlib.Path(os.environ["AREA"])
insert = "insert into done values (%s, %s, %s, %s)"


def ok(what, is_so):
    print(f"{'ok' if is_so else 'not ok'} - {what}")


def raises(kind, call):
    try:
        call()
    except kind:
        return True
    return False


def values(job):
    return [job.queue.name, job.id, job.attempt, job.payload["do"]]


def outcome(job, connection):
    match job.payload["do"]:
        case "fail":
            raise KeyError("broken \0" + "x" * 3000)
        case "surrogate":
            raise ValueError("\ud800")
        case "retry" if job.attempt == 1:
            raise Retry("later", delay=timedelta())
        case "release" if job.attempt == 1:
            raise Release()
        case "for good":
            raise Fail("no such address\0")
        case "next":
            next(iter([]))
        case "exit":
            sys.exit(3)
        case "result":
            return {"attempt": job.attempt, "kind": job.kind}
        case "no JSON":
            return object()


# What is no JSON, what the server refuses, and what it takes.
def progress(gate):
    return {"gate": gate} if (area / "tell").exists() else "\0" if (area / "refused").exists() else object()


def handler(job, connection):
    if gate := job.payload.get("gate"):
        (area / f"{name}-{gate}").touch()
        while not (area / gate).exists():
            if job.lost:
                raise RuntimeError("the job is lost")
            time.sleep(0.05)
            job.progress = progress(gate)
    with connection.transaction():
        connection.execute(insert, values(job))
    if job.payload["do"] == "commit":
        connection.commit()
    if job.payload["do"] == "send":
        b.send(connection, {"do": "sent"})
    return outcome(job, connection)


async def async_handler(job, connection):
    if gate := job.payload.get("gate"):
        (area / f"{name}-{gate}").touch()
        while not (area / gate).exists():
            await asyncio.sleep(0.05)
            job.progress = progress(gate)
    async with connection.transaction():
        await connection.execute(insert, values(job))
    if job.payload["do"] == "commit":
        await connection.commit()
    if job.payload["do"] == "send":
        await b.send(connection, {"do": "sent"})
    return outcome(job, connection)


# The steps for both kinds of connections, which differ in the calls that they await.
async def main():
    db = await psycopg.AsyncConnection.connect() if kind == "async" else psycopg.connect()

    async def got(value):
        return await value if kind == "async" else value

    async def one(statement):
        return (await got((await got(db.execute(statement))).fetchone()))[0]

    if mode == "send":
        tomorrow = datetime.now(timezone.utc) + timedelta(days=1)
        first = await got(a.send(db, {"n": 1}, priority=5, run_at=tomorrow, max_attempts=3, kind="k", expires_in=timedelta(hours=1)))
        ok("send takes its options", await one(
            f"select payload = '{{\"n\": 1}}' and priority = 5 and run_at > now() and max_attempts = 3 and kind = 'k' and expires_at = run_at + interval '1 hour'"
            f" from {a.name} where id = {first}"))
        ids = await got(a.send_many(db, [2, None, ["x"], {"\u20ac": "\u65e5"}], priority=1))
        ok("send_many returns the ids", len(ids) == 4 and ids == sorted(ids))
        ok("and none of none", await got(a.send_many(db, [])) == [])
        added = await got(a.send_once(db, {"to": "ann", "n": 1}, unique_by=["to"], period=timedelta(days=1)))
        again = await got(a.send_once(db, {"to": "ann", "n": 2}, unique_by=["to"], period=timedelta(days=1)))
        ok("send_once adds a job once", added.inserted and again == (added.id, False, "kept"))
        newest = await got(a.send_once(db, {"to": "ann", "n": 1}, unique_by=["to"], period=timedelta(days=1), on_conflict="replace"))
        ok("or replaces it", newest == (added.id, False, "replaced"))
        ok("sent has what waits, in order", await got(sent(db, a)) == [
            {"to": "ann", "n": 1}, 2, None, ["x"], {"\u20ac": "\u65e5"}, {"n": 1}])
        for wrong in {"prioritee": 1}, {"period": timedelta(1)}:
            ok(f"an option that there is not is refused: {wrong}", raises(TypeError, lambda: a.send(db, 1, **wrong)))
        for wrong in 0, -1, float("inf"), float("nan"):
            ok(f"a heartbeat is a time: {wrong}", raises(ValueError, lambda: worker(a, heartbeat=wrong)))
        ok("a delay is an interval", raises(TypeError, lambda: Retry("busy", 300)))
        ok("a time is one", raises(TypeError, lambda: Release("soon")))
        await got(db.rollback())
        ok("what was sent ends with its transaction", await got(sent(db, a)) == [])
        ok("and so with an exact name", await got(sent(db, Queue(f'public."{a.name}"'))) == [])
        await got(db.close())
        return

    worker(a)(async_handler if kind == "async" else handler)
    worker(b, kinds=["due"])(async_handler if kind == "async" else handler)
    await got(a.send_many(db, [{"do": "write"}, {"do": "retry"}, {"do": "release"}, {"do": "for good"}, {"do": "send"}]))
    await got(a.send(db, {"do": "later"}, run_at=datetime(2999, 1, 1, tzinfo=timezone.utc)))
    await got(b.send(db, {"do": "kind"}, kind="due"))
    done = await got(run_due(db))
    ok("run_due does what is due, in order", [job.payload["do"] for job in done] == [
        "write", "retry", "release", "for good", "send", "kind"])
    ok("of its kinds", await got(sent(db, b)) == [{"do": "sent"}])
    ok("what was put off waits again", await got(sent(db, a)) == [{"do": "release"}, {"do": "retry"}, {"do": "later"}])
    ok("what was written is there", await one(
        f"select array_agg(what order by what) = '{{kind,send,write}}' from done where queue ~ '^{name}_'"))
    other = await psycopg.AsyncConnection.connect() if kind == "sync" else psycopg.connect()
    ok("run_due needs a connection of the handler's kind", raises(TypeError, lambda: run_due(other)))
    await (other.close() if kind == "sync" else asyncio.to_thread(other.close))
    free = await got((psycopg.AsyncConnection if kind == "async" else psycopg.Connection).connect(autocommit=True))
    ok("and a transaction", raises(ValueError, lambda: run_due(free)))
    await got(free.close())
    await got(a.send(db, {"do": "fail"}, priority=-1))
    try:
        await got(run_due(db))
        ok("an error of a handler is raised", False)
    except KeyError:
        ok("an error of a handler is raised", True)
    await got(db.rollback())
    ok("nothing is left", await one(f"select not exists (select from {a.name}) and not exists (select from done)"))
    await got(db.close())


if mode == "work":
    chosen = async_handler if kind == "async" else handler
    worker(a, heartbeat=0.3)(chosen)
    # Its heartbeat comes too late.
    worker(b, kinds=["resize", "rotate"], concurrency=2, heartbeat=3600, lease=timedelta(hours=1))(chosen)
    run(name=name)
else:
    asyncio.run(main())
