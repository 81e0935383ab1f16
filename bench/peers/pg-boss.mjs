// pg-boss through its own API: insert, fetch, complete, from as many loops as
// there are clients, each with a connection.
//
//     pg-boss.mjs build JOBS
//     pg-boss.mjs claim|idle|drain|life BATCH CLIENTS
//
// fetch and complete are what its workers call; a loop calls them without the
// half second of pause that a worker makes. The queue has its own partition, as
// its manual advises for large queues; maintenance is off, as on a worker node.

import { PgBoss } from 'pg-boss';
import { Meter, payload, repeat } from './meter.mjs';

const queue = 'bench';

async function open(max) {
	const boss = new PgBoss({
		host: process.env.PGHOST, port: Number(process.env.PGPORT || 5432),
		user: process.env.PGUSER, database: process.env.PGDATABASE,
		max, supervise: false, schedule: false,
	});
	boss.on('error', (error) => { console.error(error); process.exit(1); });
	await boss.start();
	return boss;
}

function jobs(count) {
	return Array.from({ length: count }, () => ({ data: payload }));
}

async function build(count) {
	const boss = await open(2);
	await boss.createQueue(queue, { partition: true, retryLimit: 25, expireInSeconds: 3600 });
	for (let left = count; left > 0; left -= 10000) {
		await boss.insert(queue, jobs(Math.min(left, 10000)));
	}
	await boss.stop({ graceful: false });
}

const send = (boss, batch) =>
	batch === 1 ? boss.send(queue, payload) : boss.insert(queue, jobs(batch));

async function complete(boss, fetched) {
	await boss.complete(queue, fetched.length === 1 ? fetched[0].id : fetched.map((job) => job.id));
}

// Returns how many jobs one turn of a loop has done.
const turns = {
	async claim(boss, batch) {
		return (await boss.fetch(queue, { batchSize: batch })).length;
	},
	async idle(boss, batch) {
		await boss.fetch(queue, { batchSize: batch });
		return 1;
	},
	async drain(boss, batch) {
		const fetched = await boss.fetch(queue, { batchSize: batch });
		if (fetched.length) await complete(boss, fetched);
		return fetched.length;
	},
	async life(boss, batch) {
		await send(boss, batch);
		return turns.drain(boss, batch);
	},
};

async function measure(kind, batch, clients) {
	const boss = await open(clients);
	const meter = new Meter();
	repeat(clients, async () => {
		while (!meter.ended) {
			const count = await turns[kind](boss, batch);
			if (count === 0 && kind === 'drain') meter.end();
			else if (count === 0 && kind === 'claim') throw new Error('the backlog ran out');
			meter.add(count);
		}
	}).catch((error) => { console.error(error); process.exit(1); });
	await meter.report();
	process.exit(0);
}

const [kind, ...numbers] = process.argv.slice(2);
const work = kind === 'build' ? build : measure.bind(null, kind);
await work(...numbers.map(Number));
