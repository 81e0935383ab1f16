// graphile-worker through its own API: addJob or addJobs, and its worker.
//
//     graphile-worker.mjs build JOBS
//     graphile-worker.mjs drain|life BATCH CLIENTS
//
// A batch of 1: each of the worker's CLIENTS tasks fetches and completes by
// itself. More: a local queue of 500 jobs, or of the batch if that is more, 24
// tasks at once, and completions sent together, as its page on performance has it.

import pg from 'pg';
import { makeWorkerUtils, run, Logger } from 'graphile-worker';
import { Meter, payload, repeat } from './meter.mjs';

const task = 'bench';
const standing = Number(process.env.BACKLOG || 0);
const logger = new Logger(() => (level, message) => {
	if (level === 'error') console.error(message);
});

function open(max) {
	const pool = new pg.Pool({ max });
	pool.on('error', () => {});
	pool.on('connect', (client) => client.on('error', () => {}));
	return pool;
}

const jobs = (count) => Array.from({ length: count }, () => ({ identifier: task, payload }));

async function build(count) {
	const pool = open(2);
	const utils = await makeWorkerUtils({ pgPool: pool, logger });
	await utils.migrate();
	for (let left = count; left > 0; left -= 10000) {
		await utils.addJobs(jobs(Math.min(left, 10000)));
	}
	await utils.release();
	await pool.end();
}

function settings(batch, clients) {
	const worker = { logger, pollInterval: 100, maxPoolSize: clients };
	if (batch === 1) return { worker: { ...worker, concurrentJobs: clients } };
	return {
		worker: {
			...worker,
			concurrentJobs: 24,
			localQueue: { size: Math.max(500, batch) },
			completeJobBatchDelay: 0,
			failJobBatchDelay: 0,
		},
	};
}

// Producers stop while too many jobs wait: life is send, claim and complete at one pace.
async function produce(utils, batch, meter, sent) {
	// Where jobs are counted, as many are sent as are done.
	while (meter.limit ? sent.count < meter.limit : !meter.ended) {
		if (sent.count - meter.total > Math.max(500, 2 * batch)) {
			await new Promise((resolve) => { setTimeout(resolve, 1); });
			continue;
		}
		sent.count += batch;
		if (batch === 1) await utils.addJob(task, payload);
		else await utils.addJobs(jobs(batch));
	}
}

async function measure(kind, batch, clients) {
	const available = kind === 'drain' ? standing : Infinity;
	let producing;
	const meter = new Meter();
	const runner = await run({
		pgPool: open(clients + 1), logger, noHandleSignals: true,
		preset: settings(batch, clients),
		taskList: {
			[task]: () => {
				meter.add(1);
				if (meter.total >= available) meter.end();
			},
		},
	});
	if (kind === 'life') {
		const producers = batch === 1 ? clients : 2;
		const utils = await makeWorkerUtils({ pgPool: open(producers), logger });
		const sent = { count: 0 };
		producing = repeat(producers, () => produce(utils, batch, meter, sent))
			.catch((error) => { console.error(error); process.exit(1); });
	}
	await meter.report();
	if (meter.limit) await producing;
	// Completions that are under way belong to what was done.
	await Promise.race([runner.stop(), new Promise((resolve) => { setTimeout(resolve, 5000); })]);
	process.exit(0);
}

const [kind, ...numbers] = process.argv.slice(2);
const work = kind === 'build' ? build : measure.bind(null, kind);
await work(...numbers.map(Number));
