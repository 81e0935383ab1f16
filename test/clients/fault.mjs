// What test/clients/faults.sh does with the client for Node.js: fault.mjs node work NAME.
//
// A handler does what the payload says, {"do": ...}; NAME is the worker's and, before _f, the queue's. A file
// AREA/NAME-... says how far the handler is; it waits for files AREA/....

import { existsSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Queue, Release, Retry, run, worker } from 'queue-ext';

const [, , name] = process.argv.slice(2);
const area = process.env.AREA;
const queue = new Queue(`${name}_f`);

function says(what, text = '') {
	writeFileSync(`${area}/${name}-${what}`, text);
}

async function wait(gate) {
	while (!existsSync(`${area}/${gate}`)) await sleep(50);
}

function write(job, client, what) {
	return client.query('insert into done values ($1, $2, $3, $4)', [queue.name, job.id, job.attempt, what]);
}

// Goes on after its job has failed: without a job, then in the middle of the next.
async function part(job, client) {
	for (const gate of ['go 1', 'go 2']) {
		await wait(gate);
		await write(job, client, 'late').then(() => says(gate, 'written'), (error) => says(gate, error.message));
	}
}

async function fails() {
	throw new Error('failed');
}

async function handler(job, client) {
	const { do: what, gate, before } = job.payload;
	if (what === 'leave') await Promise.all([part(job, client), fails()]);
	if (before) await write(job, client, 'before');
	if (gate) {
		says(gate);
		await wait(gate);
	}
	switch (what) {
		case 'float': write(job, client, what).then(() => client.query('select 1 / 0')).catch(() => {}); return;
		case 'comment': await client.query('-- so\n/* it\nis */ commit'); break;
		case 'savepoint': await client.query("savepoint x; select 1").then(() => client.query('rollback\nto savepoint x')); break;
		case 'delay 300': throw new Retry('busy', { delay: 300 });
		case 'soon': throw new Release({ runAt: new Date('soon') });
		case 'too late': throw new Retry('busy €', { delay: '5 minuts' });
		case 'release': if (job.attempt === 1 && job.maxAttempts === 1) throw new Release({ runAt: 'soon' }); break;
		case 'late begin': await Promise.all([write(job, client, what), fails()]); break;
		case 'fail': throw new Error('failed');
	}
	await write(job, client, what);
	if (what === 'undone') await fails();
}

worker(queue, { heartbeat: Number(process.env.HEARTBEAT ?? 10), lease: '1 hour' }, handler);
await run({ name });
