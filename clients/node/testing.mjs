// For the tests of programs that send jobs and handle them.
//
//     await client.query('begin');
//     await signUp(client, 'ann@example.com');
//     assert.deepEqual(await sent(client, emails), [{ to: 'ann@example.com' }]);
//     await runDue(client);                     // sendEmail() does it, in this transaction
//     assert.deepEqual(await sent(client, emails), []);
//     await client.query('rollback');

import { Fail, Job, Release, Retry, workersOf } from './index.mjs';

// Does all jobs of the registered handlers, or of these, that are due, and those that they send, in the
// transaction that is open. Resolves to these jobs. What a handler throws is thrown, but for Retry,
// Fail and Release: such a job is given back, or dead, after the others.
export async function runDue(client, handlers) {
	const done = [];
	const givenBack = [];
	let count;
	do {
		count = done.length;
		for (const { queue, handler, lease, kinds } of workersOf(handlers)) {
			const pop = () => client.query('select * from queue_pop($1, lease => $2, kinds => $3)', [queue.name, lease, kinds]);
			for (let { rows } = await pop(); rows.length; { rows } = await pop()) {
				const job = new Job(queue, rows[0]);
				done.push(job);
				await client.query('savepoint queue_ext_job');
				try {
					if (!(await job.handle(client, handler))) throw new Error(`job ${job.id} of ${queue.name} was taken from its handler`);
				} catch (error) {
					if (![Retry, Fail, Release].some((kind) => error instanceof kind)) throw error;
					await client.query('rollback to savepoint queue_ext_job');
					givenBack.push([job, error]);
				}
				await client.query('release savepoint queue_ext_job');
			}
		}
	} while (done.length > count);
	for (const [job, error] of givenBack) await job.giveBack(client, error);
	return done;
}

// The payloads of the jobs that wait in the queue, due or not, in the order in which they are claimed.
export async function sent(client, queue) {
	const tables = await client.query(`
		select format('%I.%I', nspname, relname) as name
		from queues, parse_ident($1) as name, pg_class join pg_namespace on pg_namespace.oid = relnamespace
		where managed and pg_class.oid = source and parse_ident(queue) in (name, nspname::text || name)
			and (cardinality(name) = 2 or nspname = any (current_schemas(true)))
		order by array_position(current_schemas(true), nspname) limit 1`, [queue.name]);
	if (!tables.rows.length) throw new Error(`there is no managed queue ${queue.name}`);
	const { rows } = await client.query(`
		select payload from ${tables.rows[0].name}
		where coalesce(leased_until <= clock_timestamp(), true) and coalesce(dead_at > clock_timestamp(), true)
		order by priority, run_at, id`);
	return rows.map(({ payload }) => payload);
}
