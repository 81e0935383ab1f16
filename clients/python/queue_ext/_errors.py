"""What a handler raises to say what becomes of its job, and the calls that do it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Optional


class Retry(Exception):
    """Raised by a handler: the job has failed with this text, and is tried again after the delay, if one is given."""

    def __init__(self, error: str = "", delay: Optional[timedelta] = None) -> None:
        super().__init__(error)
        if not isinstance(delay, (timedelta, type(None))):
            raise TypeError(f"the delay of Retry is a timedelta, not {delay!r}")
        self.delay = delay


class Fail(Exception):
    """Raised by a handler: the job has failed for good. It is dead, with this text, whatever attempts it has left."""


class Release(Exception):
    """Raised by a handler: the job goes back to its queue, until run_at if given. No attempt is charged."""

    def __init__(self, run_at: Optional[datetime] = None) -> None:
        super().__init__()
        if not isinstance(run_at, (datetime, type(None))):
            raise TypeError(f"run_at of Release is a datetime, not {run_at!r}")
        self.run_at = run_at


# The first is what is meant. A time may be none that the server takes, and the database's encoding may lack what a text
# has.
def ways_back(error: BaseException) -> list[tuple[Any, ...]]:
    if isinstance(error, Release):
        return [("queue_release(%s, %s, %s, %s)", error.run_at), ("queue_release(%s, %s, %s)",)]
    try:
        text = str(error) if isinstance(error, (Retry, Fail)) else f"{type(error).__name__}: {error}"
    except Exception:  # of the error's own __str__
        text = type(error).__name__
    text = text.replace("\0", "").encode("utf-8", "replace").decode()[-2000:]
    if isinstance(error, Fail):
        fail = "queue_fail(%s, %s, %s, %s, retry => false)"
    else:
        fail = "queue_fail(%s, %s, %s, %s)"
    delayed = [("queue_fail(%s, %s, %s, %s, %s)", text, error.delay)] if isinstance(error, Retry) else []
    return [*delayed, (fail, text), (fail, "its error cannot be stored")]
