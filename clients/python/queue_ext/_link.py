"""A connection of a run, which is made anew when it is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from typing import Any, Optional

import psycopg

from ._steps import (AsyncJobConnection, Result, Steps, close, connect, is_refusal, pauses, take, take_async,
                     take_within)


class Link:
    def __init__(self, run: Any, kind: Any) -> None:
        self.run, self.kind = run, kind
        self.db: Any = None
        self.lock = asyncio.Lock()  # all jobs share that of the heartbeat

    async def take(self, steps: Steps[Result]) -> Result:
        if self.kind is AsyncJobConnection:
            return await take_async(steps)
        return await self.run.loop.run_in_executor(self.run.threads, copy_context().run, take, steps)

    async def close(self) -> None:
        if self.db is not None:
            db, self.db = self.db, None
            await self.take(close(db))

    # Takes steps; again on a new connection while the server does not answer, within so many seconds, also if they may
    # have been taken: a receipt is good for one completion. The result is None once it is over; or some seconds after the
    # run has been told to stop.
    async def ask(self, call: Callable[[Any], Steps[Result]], over: Optional[asyncio.Event] = None,
                  limit: Optional[float] = None) -> Optional[Result]:
        stopping = self.run.stopping
        for pause in pauses(stopping if limit is None else None):  # a heartbeat goes on
            if over is not None and over.is_set():
                break
            async with self.lock:
                try:
                    if self.db is None:
                        self.db = await self.take(connect(self.kind, self.run.conninfo, self.run.name, stopping))
                        self.run.has_connected = True
                    return await (self.take(call(self.db)) if limit is None else take_within(limit, call(self.db)))
                except psycopg.OperationalError as error:
                    if self.db is None and not self.run.has_connected and is_refusal(error):
                        raise
                    is_lost = self.db is None or self.db.closed
                    if not is_lost and not str(error.sqlstate).startswith(("08", "40", "53", "55P03", "57")):
                        raise
                    self.run.warn("no connection, trying again: %s" if is_lost else "trying again: %s", error)
                    await self.close()
                except asyncio.CancelledError:  # in the middle of a statement
                    await self.close()
                    raise
            if over is None and stopping.is_set():
                await asyncio.sleep(pause)
            else:
                with suppress(asyncio.TimeoutError):
                    await asyncio.wait_for((over or stopping).wait(), pause)
        return None
