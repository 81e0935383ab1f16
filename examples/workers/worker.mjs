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
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

const [queue, name, ...program] = process.argv.slice(2);
if (!program.length) throw new Error('usage: worker.mjs QUEUE NAME PROGRAM [ARGUMENT...]');
const heartbeat = 1000 * (process.env.HEARTBEAT ?? 10); // the queue's lease should be some times that
const stop = new AbortController();
let client, job;

// While there is no job in hand, whatever the worker waits for can be ended: the server claims no
// job for a client that is gone. (One that was claimed at that very moment comes back with its lease.)
for (const signal of ['SIGTERM', 'SIGINT']) {
	process.on(signal, () => {
		stop.abort();
		if (!job) client?.end().catch(() => {});
	});
}

async function connect() {
	const fresh = new pg.Client({ application_name: name });
	fresh.on('error', () => {}); // its next query says so
	await fresh.connect();
	client = fresh;
}

// Calls what asks the server; again on a new connection while the connection is lost, also for what
// may have been done: a receipt is good for one completion. Returns nothing when told to stop.
async function ask(call) {
	for (let pause = 100; ; pause = Math.min(2 * pause, 10_000)) {
		try {
			if (!client) await connect();
			return job || !stop.signal.aborted ? await call() : undefined;
		} catch (error) {
			if (!job && stop.signal.aborted) return undefined;
			if (error instanceof pg.DatabaseError && !/^(08|53|57P)/.test(error.code)) throw error;
			console.error(`${name}: no connection, trying again: ${error.message}`);
			client?.end().catch(() => {});
			client = undefined;
		}
		await sleep(pause * (0.5 + Math.random() / 2), null, { signal: job ? undefined : stop.signal }).catch(() => {});
	}
}

async function row(statement, ...parameters) {
	return (await client.query(statement, parameters)).rows[0];
}

// All columns are null if no job came in a minute. Statements may not be allowed that long.
const pop = () => row('call queue_pop_wait($1, worker => $2)', queue, name).catch((error) => {
	if (error.code !== '57014') throw error;
});

const extend = () => row('select queue_extend($1, $2, $3) as done', queue, job.id, job.attempt);

// The writes of the job belong here: they are committed exactly if the job is completed.
async function complete(output) {
	await client.query('begin');
	try {
		const { done } = await row('select queue_complete($1, $2, $3) as done', queue, job.id, job.attempt);
		if (done)
			await row('insert into job_results (queue, job, attempt, worker, output) values ($1, $2, $3, $4, $5)',
				queue, job.id, job.attempt, name, output);
		await client.query('commit');
	} catch (error) {
		await client.query('rollback').catch(() => {});
		throw error;
	}
}

// A new attempt comes after the queue's backoff. Does nothing if the job was taken over.
const fail = (error) =>
	row('select queue_fail($1, $2, $3, error => $4)', queue, job.id, job.attempt, error.slice(-2000));

// The database's encoding may lack what the error has.
const failPlainly = (error) => {
	if (!/^22/.test(error.code)) throw error;
	return fail('its error cannot be stored');
};

// Runs the program, and extends the lease until it ends. Returns what it has printed.
async function work() {
	const child = spawn(program[0], program.slice(1), {
		env: { ...process.env, JOB_ID: job.id, JOB_ATTEMPT: job.attempt },
		detached: true, // a process group of its own, to end it with all its children
	});
	let output = '';
	for (const stream of [child.stdout, child.stderr])
		stream.setEncoding('utf8').on('data', (text) => (output += text));
	child.stdin.on('error', () => {}).end(JSON.stringify(job.payload));
	let result;
	const ended = once(child, 'close');
	while (!(result = await Promise.race([ended, sleep(heartbeat, undefined, { ref: false })]))) {
		if ((await ask(extend)).done) continue;
		console.error(`${name}: job ${job.id} was taken over: its lease had run out`);
		process.kill(-child.pid, 'SIGKILL');
	}
	output = output.replaceAll('\0', '').trimEnd(); // it may print anything; the server takes text
	if (result[0] !== 0) throw new Error(output || `exit status ${result}`);
	return output;
}

while (!stop.signal.aborted) {
	const answer = await ask(pop);
	if (!answer?.id) continue;
	job = answer;
	try {
		const output = await work();
		await ask(() => complete(output));
	} catch (error) {
		await ask(() => fail(error.message).catch(failPlainly));
	}
	job = undefined;
}
await client?.end();
