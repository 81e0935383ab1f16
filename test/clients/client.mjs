// What test/clients/run does with the client for Node.js: client.mjs node send|due|work NAME.
//
// A handler does what the payload says, {"do": ...}; NAME is the worker's and, before _a and _b, the queues'.

import { existsSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual as equal } from 'node:util';
import pg from 'pg';
import { Fail, Queue, Release, Retry, run, worker } from 'queue-ext';
import { runDue, sent } from 'queue-ext/testing';

const [, mode, name] = process.argv.slice(2);
const area = process.env.AREA;
const a = new Queue(`${name}_a`);
const b = new Queue(`${name}_b`);

function ok(what, isSo) {
	console.log(`${isSo ? 'ok' : 'not ok'} - ${what}`);
}

async function handler(job, client) {
	const { do: what, gate } = job.payload;
	if (gate) {
		writeFileSync(`${area}/${name}-${gate}`, '');
		while (!existsSync(`${area}/${gate}`)) {
			await sleep(50, null, { signal: job.signal });
			job.progress = existsSync(`${area}/tell`) ? { gate } : existsSync(`${area}/refused`) ? '\0' : 1n;
		}
	}
	await client.query('insert into done values ($1, $2, $3, $4)', [job.queue.name, job.id, job.attempt, what]);
	switch (what) {
		case 'commit': await client.query('commit'); break;
		case 'send': await b.send(client, { do: 'sent' }); break;
		case 'fail': throw new RangeError(`broken \0${'x'.repeat(3000)}`);
		case 'surrogate': throw new Error('\ud800');
		case 'next': throw undefined;
		case 'exit': throw 'exit';
		case 'retry': if (job.attempt === 1) throw new Retry('later', { delay: '0' }); break;
		case 'release': if (job.attempt === 1) throw new Release(); break;
		case 'for good': throw new Fail('no such address\0');
		case 'result': return { attempt: job.attempt, kind: job.kind };
		case 'no JSON': return 1n;
	}
	return undefined;
}

async function tests(client) {
	const one = async (text) => Object.values((await client.query(text)).rows[0])[0];
	await client.query('begin');
	if (mode === 'send') {
		const runAt = new Date(Date.now() + 86_400_000);
		const first = await a.send(client, { n: 1 }, { priority: 5, runAt, maxAttempts: 3, kind: 'k', expiresIn: '1 hour' });
		ok('send takes its options', await one(`select payload = '{"n": 1}' and priority = 5 and run_at > now()
			and max_attempts = 3 and kind = 'k' and expires_at = run_at + interval '1 hour' from ${a.name} where id = ${first}`));
		const ids = await a.sendMany(client, [2, null, ['x'], { '€': '日' }], { priority: 1 });
		ok('send_many returns the ids', ids.length === 4 && equal(ids, [...ids].sort((one, other) => one - other)));
		ok('and none of none', equal(await a.sendMany(client, []), []));
		const once = { uniqueBy: ['to'], period: '1 day' };
		const added = await a.sendOnce(client, { to: 'ann', n: 1 }, once);
		const again = await a.sendOnce(client, { to: 'ann', n: 2 }, once);
		ok('send_once adds a job once', added.inserted && equal({ ...again }, { id: added.id, inserted: false, outcome: 'kept' }));
		const newest = await a.sendOnce(client, { to: 'ann', n: 1 }, { ...once, onConflict: 'replace' });
		ok('or replaces it', newest.id === added.id && newest.outcome === 'replaced');
		ok('sent has what waits, in order', equal(await sent(client, a),
			[{ to: 'ann', n: 1 }, 2, null, ['x'], { '€': '日' }, { n: 1 }]));
		ok('an option that there is not is refused',
			await a.send(client, 1, { prioritee: 1 }).catch((error) => error instanceof TypeError));
		for (const heartbeat of [0, -1, NaN, Infinity, '1']) {
			let refused;
			try { worker(a, { heartbeat }, handler); } catch (error) { refused = error; }
			ok(`a heartbeat is a time: ${heartbeat}`, refused instanceof RangeError);
		}
		await client.query('rollback');
		ok('what was sent ends with its transaction', equal(await sent(client, a), []));
		ok('and so with an exact name', equal(await sent(client, new Queue(`public."${a.name}"`)), []));
		return;
	}
	worker(a, handler);
	worker(b, { kinds: ['due'] }, handler);
	await a.sendMany(client, ['write', 'retry', 'release', 'for good', 'send'].map((what) => ({ do: what })));
	await a.send(client, { do: 'later' }, { runAt: '2999-01-01' });
	await b.send(client, { do: 'kind' }, { kind: 'due' });
	const done = await runDue(client);
	ok('run_due does what is due, in order',
		equal(done.map((job) => job.payload.do), ['write', 'retry', 'release', 'for good', 'send', 'kind']));
	ok('of its kinds', equal(await sent(client, b), [{ do: 'sent' }]));
	ok('what was put off waits again', equal(await sent(client, a), [{ do: 'release' }, { do: 'retry' }, { do: 'later' }]));
	ok('what was written is there', await one(
		`select array_agg(what order by what) = '{kind,send,write}' from done where queue ~ '^${name}_'`));
	await a.send(client, { do: 'fail' }, { priority: -1 });
	ok('an error of a handler is raised', await runDue(client).catch((error) => error instanceof RangeError));
	await client.query('rollback');
	ok('nothing is left', await one(`select not exists (select from ${a.name}) and not exists (select from done)`));
}

if (mode === 'work') {
	worker(a, { heartbeat: 0.3 }, handler);
	// Its heartbeat comes too late.
	worker(b, { kinds: ['resize', 'rotate'], concurrency: 2, heartbeat: 3600, lease: '1 hour' }, handler);
	await run({ name });
} else {
	const client = new pg.Client();
	await client.connect();
	await tests(client);
	await client.end();
}
