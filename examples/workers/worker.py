#!/usr/bin/env python3
"""worker.py - a worker with psycopg 3: runs a program for each job of a queue.

  worker.py QUEUE NAME PROGRAM [ARGUMENT...]

The program reads the payload from its input, and JOB_ID and JOB_ATTEMPT from its environment.
What it prints is written to the table job_results (setup.sql) in the transaction that completes
the job. If it fails, what it prints is the error, and the job is tried again. The database is
that of libpq (PGHOST, PGDATABASE, ...).

TERM: finishes the job under way, claims no more.
"""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time

import psycopg
from psycopg.rows import namedtuple_row

HEARTBEAT = float(os.environ.get("HEARTBEAT", 10))  # seconds; the queue's lease should be some times that


class Worker:
    def __init__(self, queue, name, program):
        self.queue, self.name, self.program = queue, name, program
        self.connection = None
        self.stopping = self.has_job = False

    # While there is no job in hand, whatever the worker waits for can be ended: psycopg cancels its
    # statement then. (A job that was claimed at that very moment comes back with its lease.)
    def stop(self, *_):
        self.stopping = True
        if not self.has_job:
            raise KeyboardInterrupt

    # Calls what asks the server; again on a new connection while the connection is lost, also for what
    # may have been done: a receipt is good for one completion.
    def ask(self, call, *arguments):
        pause = 0.1
        while self.has_job or not self.stopping:
            try:
                if self.connection is None or self.connection.closed:
                    # Behind a transaction pooler a prepared statement may be on another connection.
                    self.connection = psycopg.connect(autocommit=True, prepare_threshold=None,
                                                      application_name=self.name, row_factory=namedtuple_row)
                return call(*arguments)
            except psycopg.OperationalError as error:
                if self.connection is not None and not self.connection.closed:
                    raise
                print(f"{self.name}: no connection, trying again: {error}", file=sys.stderr)
            time.sleep(pause * random.uniform(0.5, 1))
            pause = min(2 * pause, 10)
        raise KeyboardInterrupt

    def row(self, statement, *parameters):
        return self.connection.execute(statement, parameters).fetchone()

    # All columns are None if no job came in a minute. Statements may not be allowed that long.
    def pop(self):
        try:
            return self.row("call queue_pop_wait(%s, worker => %s)", self.queue, self.name)
        except psycopg.errors.QueryCanceled:
            return None

    def extend(self, job):
        return self.row("select queue_extend(%s, %s, %s)", self.queue, job.id, job.attempt)[0]

    # The writes of the job belong here: they are committed exactly if the job is completed.
    def complete(self, job, output):
        with self.connection.transaction():
            if self.row("select queue_complete(%s, %s, %s)", self.queue, job.id, job.attempt)[0]:
                self.connection.execute("insert into job_results (queue, job, attempt, worker, output)"
                                        " values (%s, %s, %s, %s, %s)",
                                        (self.queue, job.id, job.attempt, self.name, output))

    # A new attempt comes after the queue's backoff. Does nothing if the job was taken over. The
    # database's encoding may lack what the error has.
    def fail(self, job, error):
        statement = "select queue_fail(%s, %s, %s, error => %s)"
        try:
            self.row(statement, self.queue, job.id, job.attempt, error[-2000:])
        except (psycopg.DataError, UnicodeError):
            self.row(statement, self.queue, job.id, job.attempt, "its error cannot be stored")

    # Runs the program, and extends the lease until it ends. Returns what it has printed.
    def work(self, job):
        environment = {**os.environ, "JOB_ID": str(job.id), "JOB_ATTEMPT": str(job.attempt)}
        with subprocess.Popen(self.program, env=environment, text=True, errors="replace", start_new_session=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
            payload = json.dumps(job.payload)
            while True:
                try:
                    # It may print anything; the server takes text.
                    output = process.communicate(payload, timeout=HEARTBEAT)[0].replace("\0", "").rstrip("\n")
                    break
                except subprocess.TimeoutExpired:
                    payload = None  # it has been passed on
                if not self.ask(self.extend, job):
                    print(f"{self.name}: job {job.id} was taken over: its lease had run out", file=sys.stderr)
                    os.killpg(process.pid, signal.SIGKILL)
        if process.returncode:
            raise RuntimeError(output or f"exit status {process.returncode}")
        return output

    def run(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.stop)
        with contextlib.suppress(KeyboardInterrupt):
            while not self.stopping:
                job = self.ask(self.pop)
                self.has_job = job is not None and job.id is not None
                if self.has_job:
                    try:
                        self.ask(self.complete, job, self.work(job))
                    except (OSError, RuntimeError, UnicodeError, psycopg.Error) as error:
                        self.ask(self.fail, job, str(error))
                    self.has_job = False


if len(sys.argv) < 4:
    sys.exit("usage: worker.py QUEUE NAME PROGRAM [ARGUMENT...]")
Worker(sys.argv[1], sys.argv[2], sys.argv[3:]).run()
