#!/usr/bin/env node
// worker.mjs - a worker with Node.js and pg: runs a program for each job of a queue.
//
//   worker.mjs QUEUE NAME PROGRAM [ARGUMENT...]
//
// The program reads the payload from its input, and JOB_ID and JOB_ATTEMPT from its environment.
// What it prints is written to the table job_results (setup.sql) in the transaction that completes
// the job. If it fails, what it prints is the error, and the job is tried again. The database is
// that of pg (PGHOST, PGDATABASE, ...).
//
// TERM: finishes the job under way, claims no more.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
// That of the checkout; a program of your own imports 'queue-ext'.
import { Queue, Retry, run, worker } from '../../clients/node/index.mjs';

const [queue, name, ...program] = process.argv.slice(2);
if (!program.length) throw new Error('usage: worker.mjs QUEUE NAME PROGRAM [ARGUMENT...]');
const heartbeat = Number(process.env.HEARTBEAT ?? 10); // seconds; the queue's lease should be some times that

// Resolves to what the program has printed.
async function outputOf(job) {
	const child = spawn(program[0], program.slice(1), {
		env: { ...process.env, JOB_ID: job.id, JOB_ATTEMPT: job.attempt },
		detached: true, // a process group of its own, to end it with all its children
	});
	job.signal.addEventListener('abort', () => {
		try {
			process.kill(-child.pid, 'SIGKILL');
		} catch {} // it has just ended
	});
	let output = '';
	for (const stream of [child.stdout, child.stderr])
		stream.setEncoding('utf8').on('data', (text) => (output += text));
	child.stdin.on('error', () => {}).end(JSON.stringify(job.payload));
	const result = await once(child, 'close');
	output = output.replaceAll('\0', '').trimEnd(); // it may print anything; the server takes text
	if (result[0] !== 0) throw new Retry(output || `exit status ${result}`);
	return output;
}

worker(new Queue(queue), { heartbeat }, async (job, client) => {
	const output = await outputOf(job);
	await client.query('insert into job_results (queue, job, attempt, worker, output) values ($1, $2, $3, $4, $5)',
		[queue, job.id, job.attempt, name, output]);
});

await run({ name });
