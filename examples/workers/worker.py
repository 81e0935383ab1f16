#!/usr/bin/env python3
"""worker.py - a worker with psycopg 3: runs a program for each job of a queue.

  worker.py QUEUE NAME PROGRAM [ARGUMENT...]

The program reads the payload from its input, and JOB_ID and JOB_ATTEMPT from its environment.
What it prints is written to the table job_results (setup.sql) in the transaction that completes
the job. If it fails, what it prints is the error, and the job is tried again. The database is
that of libpq (PGHOST, PGDATABASE, ...).

TERM: finishes the job under way, claims no more.
"""

import json
import os
import signal
import subprocess
import sys

# That of the checkout; a program of your own installs it.
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../clients/python"))
from queue_ext import Queue, Retry, run, worker  # noqa: E402

if len(sys.argv) < 4:
    sys.exit("usage: worker.py QUEUE NAME PROGRAM [ARGUMENT...]")
queue, name, *program = sys.argv[1:]


# Returns what the program has printed.
def output_of(job):
    environment = {**os.environ, "JOB_ID": str(job.id), "JOB_ATTEMPT": str(job.attempt)}
    with subprocess.Popen(program, env=environment, text=True, errors="replace", start_new_session=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        payload = json.dumps(job.payload)
        while True:
            try:
                # It may print anything; the server takes text.
                output = process.communicate(payload, timeout=1)[0].replace("\0", "").rstrip("\n")
                break
            except subprocess.TimeoutExpired:
                payload = None  # it has been passed on
            if job.lost:
                os.killpg(process.pid, signal.SIGKILL)
    if process.returncode:
        raise Retry(output or f"exit status {process.returncode}")
    return output


@worker(Queue(queue), heartbeat=float(os.environ.get("HEARTBEAT", 10)))  # seconds; the lease should be some times that
def run_program(job, connection):
    output = output_of(job)
    connection.execute("insert into job_results (queue, job, attempt, worker, output) values (%s, %s, %s, %s, %s)",
                       (queue, job.id, job.attempt, name, output))


run(name=name)
