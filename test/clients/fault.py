"""What test/clients/faults.sh does with the client for Python: fault.py sync|async work NAME.

A handler does what the payload says, {"do": ...}; NAME is the worker's and, before _f, the queue's. A file
AREA/NAME-... says how far the handler is; it waits for files AREA/....
"""

import asyncio
import contextvars
import os
import pathlib
import signal
import sys
import threading
import time
from datetime import timedelta

from queue_ext import Queue, Release, Retry, run, worker

kind, mode, name = sys.argv[1:]
queue = Queue(f"{name}_f")
area = pathlib.Path(os.environ["AREA"])
insert = "insert into done values (%s, %s, %s, %s)"


def told(gate):
    return (area / gate).exists()


def says(what, text=""):
    (area / f"{name}-{what}").write_text(text)


def do(job, connection, what):
    return connection.execute(insert, [queue.name, job.id, job.attempt, what])


def wait(gate):
    while not told(gate):
        time.sleep(0.05)


async def wait_async(gate):
    while not told(gate):
        await asyncio.sleep(0.05)


# Goes on after its job has failed: without a job, then in the middle of the next.
def leave_thread(job, connection):
    def part(gate):
        wait(gate)
        try:
            do(job, connection, "late")
            says(gate, "written")
        except Exception as error:
            says(gate, str(error))
    threading.Thread(target=part, args=["go 1"]).start()
    threading.Thread(target=contextvars.copy_context().run, args=[part, "go 2"]).start()


async def part(job, connection):
    for gate in "go 1", "go 2":
        await wait_async(gate)
        try:
            await do(job, connection, "late")
            says(gate, "written")
        except Exception as error:
            says(gate, str(error))


async def fail():
    raise RuntimeError("failed")


def outcome(job):
    match job.payload.get("do"):
        case "delay 300":
            raise Retry("busy", 300)
        case "soon":
            raise Release("soon")
        case "too late":
            raise Retry("busy \u20ac", timedelta.max)
        case "fail":
            raise RuntimeError("failed")


def handler(job, connection):
    what = job.payload.get("do")
    if what == "awaitable":
        return part(job, connection)
    if what == "leave":
        leave_thread(job, connection)
        raise RuntimeError("failed")
    if job.payload.get("before"):
        do(job, connection, "before")
    if gate := job.payload.get("gate"):
        says(gate)
        wait(gate)
    outcome(job)
    do(job, connection, what)
    if what == "undone":
        raise RuntimeError("failed")


async def async_handler(job, connection):
    what = job.payload.get("do")
    if what == "leave":
        await asyncio.gather(part(job, connection), fail())
    if job.payload.get("before"):
        await do(job, connection, "before")
    if gate := job.payload.get("gate"):
        says(gate)
        await wait_async(gate)
    if what == "late begin":
        await asyncio.gather(do(job, connection, what), fail())
    if what == "float":
        await do(job, connection, what)
        asyncio.get_running_loop().call_soon(asyncio.ensure_future, connection.execute("select 1 / 0"))
        return
    if what == "cut reset":
        task = asyncio.create_task(do(job, connection, what))
        await wait_async("connecting")
        task.cancel()
        await fail()
    outcome(job)
    await do(job, connection, what)
    if what == "undone":
        await fail()


chosen = async_handler if kind == "async" else handler
heartbeat = float(os.environ.get("HEARTBEAT", 10))
worker(queue, heartbeat=heartbeat, lease=timedelta(hours=1))(chosen)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
try:
    run(name=name)
finally:
    says("signals", str(signal.getsignal(signal.SIGTERM)))
