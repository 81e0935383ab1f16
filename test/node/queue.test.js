// Every function of queue_ext through pg, Node's PostgreSQL driver, which sends
// $1, $2, ... without types and its arguments as text or arrays.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import pg from 'pg';

// PGHOST and its like say where.
const client = new pg.Client();
const schema = 'test_node';
const queue = `${schema}.jobs`;

// The rows of a query.
async function rows(text, ...values) {
	return (await client.query(text, values)).rows;
}

// The one value of a query.
async function value(text, ...values) {
	const result = await rows(text, ...values);
	assert.equal(result.length, 1);
	return Object.values(result[0])[0];
}

// The one column of a query. bigint comes as text, as always with pg.
async function column(text, ...values) {
	return (await rows(text, ...values)).map((row) => Object.values(row)[0]);
}

before(async () => {
	await client.connect();
	await client.query(`create extension if not exists queue_ext`);
	await client.query(`drop schema if exists ${schema} cascade`);
	await client.query(`create schema ${schema}`);
});

after(async () => {
	await client.query(`drop schema if exists ${schema} cascade`);
	await client.end();
});

// A fresh queue for each test.
function queueTest(name, body) {
	test(name, async () => {
		await value('select queue_create($1)', queue);
		try {
			await body();
		} finally {
			await value('select queue_drop($1, $2)', queue, true);
		}
	});
}

queueTest('the life of a job', async () => {
	const id = await value('select queue_send($1, $2)', queue, { to: 'ada' });
	const [job] = await rows('select * from queue_pop($1)', queue);
	assert.equal(job.id, id);
	assert.equal(job.attempt, 1);
	assert.deepEqual(job.payload, { to: 'ada' });
	assert.ok(job.leased_until instanceof Date);
	assert.equal(await value('select queue_extend($1, $2, $3)', queue, job.id, job.attempt), true);
	assert.equal(await value('select queue_extend($1, $2, $3, $4)', queue, job.id, job.attempt, '1 hour'), true);
	assert.equal(await value('select queue_complete($1, $2, $3)', queue, job.id, job.attempt), true);
	assert.equal(await value('select queue_complete($1, $2, $3)', queue, job.id, job.attempt), false);
	assert.deepEqual(await rows('select * from queue_pop($1)', queue), []);
});

queueTest('all arguments of send and pop', async () => {
	const past = new Date('2001-01-01T00:00:00Z');
	const id = await value('select queue_send($1, $2, $3, $4, $5, $6)', queue, '"text"', -1, past, 3, 'mail');
	const [job] = await rows('select * from queue_pop($1, $2, $3, $4)', queue, 1, '1 hour', 'node');
	assert.equal(job.id, id);
	assert.equal(job.payload, 'text');
	assert.equal(job.priority, -1);
	assert.deepEqual(job.run_at, past);
	assert.equal(job.max_attempts, 3);
	assert.equal(job.leased_by, 'node');
	assert.equal(job.kind, 'mail');
});

queueTest('many at once', async () => {
	const ids = await column('select * from queue_send_many($1, $2)', queue, ['1', '2', '3', '4', '5', '6']);
	assert.equal(ids.length, 6);
	const more = await column('select * from queue_send_many($1, $2, $3, $4, $5)', queue, ['{"n": 7}'], 1, null, 1);
	const jobs = await rows('select * from queue_pop($1, $2)', queue, 10);
	assert.deepEqual(jobs.map((job) => job.id), [...ids, ...more]);
	assert.deepEqual(jobs[6].payload, { n: 7 });

	const one = [1];
	assert.deepEqual(await column('select queue_extend_many($1, $2, $3)', queue, ids, Array(6).fill(1)), ids);
	assert.deepEqual(await column('select queue_extend_many($1, $2, $3, $4)', queue, more, one, '1 hour'), more);
	assert.deepEqual(await column('select queue_complete_many($1, $2, $3)', queue, [ids[1], ids[0]], [1, 1]), ids.slice(0, 2));
	assert.deepEqual(await column('select queue_fail_many($1, $2, $3)', queue, [ids[2]], one), [ids[2]]);
	assert.deepEqual(
		await column('select queue_fail_many($1, $2, $3, $4, $5)', queue, more, one, ['broken'], '1 minute'),
		more,
	);
	assert.deepEqual(await column('select queue_release_many($1, $2, $3)', queue, [ids[3]], one), [ids[3]]);
	assert.deepEqual(
		await column('select queue_release_many($1, $2, $3, $4)', queue, [ids[4]], one, new Date('2030-01-01')),
		[ids[4]],
	);
	assert.deepEqual(await column('select queue_cancel_many($1, $2)', queue, [ids[3]]), [ids[3]]);
	assert.deepEqual(await column('select queue_cancel_many($1, $2, $3)', queue, [ids[4]], [null]), [ids[4]]);
	assert.deepEqual(await column('select queue_requeue_many($1, $2)', queue, more), more);
	assert.deepEqual(await column('select queue_requeue_many($1, $2, $3)', queue, more, one), []);
});

queueTest('a job that is sent only once', async () => {
	const [first] = await rows('select * from queue_unique_insert($1, $2)', queue, { to: 'ada' });
	assert.equal(first.inserted, true);
	const [second] = await rows(
		'select * from queue_unique_insert($1, $2, $3, $4, $5, $6, $7, $8)',
		queue, { to: 'ada' }, null, null, ['ready', 'leased'], 1, new Date(0), 2,
	);
	assert.deepEqual(second, { id: first.id, inserted: false, outcome: 'kept' });
	const both = await rows('select * from queue_unique_insert_many($1, $2)', queue, ['{"to": "ada"}', '{"to": "bob"}']);
	assert.deepEqual(both.map((job) => job.inserted), [false, true]);
	const more = await rows(
		'select * from queue_unique_insert_many($1, $2, $3, $4, $5, $6, $7, $8)',
		queue, ['{"to": "ada"}', '{"to": "ada", "n": 1}'], ['to'], '1 hour', null, 0, null, null,
	);
	assert.deepEqual(more.map((job) => job.inserted), [true, false]);
	const key = await value('select queue_unique_key($1, $2)', queue, { to: 'ada' });
	assert.match(key, /^unique_key\|queue=.*\|args=\{"to": "ada"\}$/);
	assert.equal(await value('select queue_unique_key($1, $2, $3, $4, $5)', queue, { n: 1 }, ['n'], '1 hour', new Date(0)),
		key.replace(/args=.*/, 'by=["n"]|period=3600|bucket=0|args={"n": 1}'));
	await value('select queue_lock($1)', key);
	assert.equal(await value('select queue_try_lock($1)', key), true);
});

queueTest('a job that fails', async () => {
	// So that it is scheduled for as long as this may take.
	await value('select queue_alter($1, backoff_base => $2)', queue, '30 minutes');
	const id = await value('select queue_send($1, $2)', queue, 1);
	await rows('select * from queue_pop($1)', queue);
	assert.equal(await value('select queue_fail($1, $2, $3, $4, $5)', queue, id, 1, 'broken', '0'), true);
	const [job] = await rows('select * from queue_pop($1)', queue);
	assert.equal(job.attempt, 2);
	assert.equal(job.last_error, 'broken');
	assert.equal(await value('select queue_fail($1, $2, $3)', queue, id, 2), true);
	assert.ok((await rows('select * from queue_claim_path($1)', queue))[0].path);
	assert.deepEqual(await rows('select * from queue_health($1)', queue), []);
	const asked = new Date();
	const next = await value('select queue_schedule($1, $2, every => $3, payload => $4)', queue, 'hourly', '1 hour', { a: 1 });
	assert.ok(next > asked);
	const [schedule] = await rows('select * from queue_schedules where queue = $1', queue);
	assert.deepEqual([schedule.name, schedule.payload, schedule.next_run_at], ['hourly', { a: 1 }, next]);
	assert.equal(await value('select queue_unschedule($1, $2)', queue, 'hourly'), true);
	assert.equal((await rows('select * from queue_result($1, $2)', queue, -1))[0].state, null);
	const [counts] = await rows('select * from queue_counts($1)', queue);
	assert.deepEqual(counts, { ready: '0', scheduled: '1', leased: '0', dead: '0' });
});

queueTest('a job that is given back, then given up', async () => {
	const id = await value('select queue_send($1, $2, $3, $4, $5)', queue, 1, 0, null, 1);
	await rows('select * from queue_pop($1)', queue);
	assert.equal(await value('select queue_release($1, $2, $3)', queue, id, 1), true);
	await rows('select * from queue_pop($1)', queue);
	assert.equal(await value('select queue_release($1, $2, $3, $4)', queue, id, 2, new Date(0)), true);
	await rows('select * from queue_pop($1)', queue);
	assert.equal(await value('select queue_fail($1, $2, $3)', queue, id, 3), true);
	assert.equal(await value('select queue_requeue($1, $2, $3)', queue, id, 2), false);
	assert.equal(await value('select queue_requeue($1, $2)', queue, id), true);
	assert.equal(await value('select queue_cancel($1, $2, $3)', queue, id, 2), false);
	assert.equal(await value('select queue_cancel($1, $2)', queue, id), true);
});

queueTest('the queue itself', async () => {
	assert.equal(await value('select queue_pause($1)', queue), true);
	assert.equal(await value('select queue_resume($1)', queue), true);
	await value('select queue_alter($1)', queue);
	await value('select queue_alter($1, $2, $3, $4, $5, $6)', queue, '1 minute', 2, '1 second', '1 hour', true);
	const [row] = await rows('select max_attempts, archive from queues where queue = $1', queue);
	assert.deepEqual(row, { max_attempts: 2, archive: `${queue}_archive` });
	await value('select queue_send($1, $2)', queue, 1);
	assert.equal(await value('select queue_purge($1, $2)', queue, 'dead'), '0');
	assert.equal(await value('select queue_purge($1)', queue), '1');
	assert.equal(await value('select queue_drop($1)', queue), true);
	await value('select queue_create($1, $2, $3, $4, $5, $6)', queue, '1 minute', 2, '1 second', '1 hour', false);
});

test('a table of one\'s own', async () => {
	const table = `${schema}.tasks`;
	await client.query(`create table ${table} (id integer primary key, state text not null default 'new', note text)`);
	await client.query(`create index on ${table} (id) where state = 'new'`);
	await client.query(`insert into ${table} select generate_series(1, 8)`);
	// Only the row types have to be written out.
	const text = async (sql, ...values) => value(`select (${sql})::text`, ...values);
	await value('select queue_attach($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)', table, table, "state = 'new'", 'id',
		"state = 'taken'", "state = 'done'", "state = 'new'", "state = 'failed', note = error", 'update', 'note = lease::text',
		'1 minute');
	assert.deepEqual(await rows(`select * from queue_pop_rows($1::${table})`, null), [{ id: 1, state: 'taken', note: null }]);
	const popped = await rows(`select j.*, j::text as receipt from queue_pop_rows($1::${table}, $2, $3, $4, $5) j`, null, table, 9,
		'1 hour', 'node');
	assert.deepEqual(popped.map((row) => row.id), [2, 3, 4, 5, 6, 7, 8]);
	const receipts = popped.map((row) => row.receipt);
	assert.equal(await value(`select queue_complete_row($1, $2::${table})`, table, receipts[0]), true);
	assert.equal(await value(`select queue_complete_row($1, $2::${table})`, table, receipts[0]), false);
	assert.equal(await value(`select queue_release_row($1, $2::${table})`, table, receipts[1]), true);
	assert.equal(await value(`select queue_release_row($1, $2::${table}, $3)`, table, receipts[2], new Date()), true);
	assert.equal(await value(`select queue_fail_row($1, $2::${table})`, table, receipts[3]), true);
	assert.equal(await value(`select queue_fail_row($1, $2::${table}, $3, $4)`, table, receipts[4], 'broken', '1 hour'), true);
	assert.equal(await text(`queue_extend_row($1, $2::${table})`, table, receipts[5]), '(7,taken,00:01:00)');
	assert.equal(await text(`queue_extend_row($1, $2::${table}, $3)`, table, receipts[5], '1 day'), '(7,taken,24:00:00)');
	assert.deepEqual(await column(`select state || coalesce(' ' || note, '') from ${table} order by id`),
		['taken', 'done', 'new', 'new', 'failed', 'failed broken', 'taken 24:00:00', 'taken']);
	assert.equal(await value('select queue_is_held($1, $2)', 1259, '1'), false);
	assert.equal(await value('select queue_detach($1)', table), true);
	assert.equal(await value('select queue_detach($1, $2)', table, true), false);
	await assert.rejects(rows('select queue_attach($1, $2, $3)', table, table, "state = 'new'"), { code: '22023' });
	await assert.rejects(rows('select queue_adopt($1)', table), { code: '55000' });
	await assert.rejects(rows('select queue_upgrade($1)', table), { code: '42704' });
	await assert.rejects(
		rows('select queue_attach($1, $2, $3, on_claim => $4)', table, table, "state = = 'new'", "state = 'old'"),
		(error) => {
			assert.equal(error.code, '42601');
			assert.equal(error.internalQuery, "state = = 'new'");
			assert.equal(error.internalPosition, '9');
			assert.match(error.where, /"pending" of queue "tasks"/);
			return true;
		},
	);
});

test('keys', async () => {
	assert.equal(await value('select fnv1_32($1)', 'a'), 84696446);
	assert.equal(await value('select fnv1a_32($1)', 'a'), -468965076);
	assert.equal(await value('select fnv1_64($1)', 'a'), '-5808590958014384194');
	assert.equal(await value('select fnv1a_64($1)', 'a'), '-5808556873153909620');
	assert.equal(await value('select fnv_lock_key($1)', 'a'), '-5808590958014384194');
	assert.equal(await value('select fnv_lock_key($1, $2)', 'a', 1), '4379663742');
	// Without a type it is text, also where it looks like bytes.
	assert.equal(await value('select fnv_lock_key($1)', '\\x61'), await value('select fnv1_64($1::text)', '\\x61'));
	assert.equal(await value('select fnv_lock_key($1::bytea, $2)', Buffer.from('a'), 1), '4379663742');
});

test('throttles', async () => {
	await value('select throttle_create($1, $2)', queue, '1 hour');
	await value('select throttle_alter($1, $2, $3)', queue, '2 hours', 2);
	const lock = () => value('select lock_throttled_resource($1, $2)', queue, 'node');
	assert.deepEqual([await lock(), await lock(), await lock()], [true, true, false]);
	assert.equal(await value('select throttle_drop($1)', queue), true);
	assert.equal(await value('select throttle_drop($1, $2)', queue, true), false);

	await client.query(`create type ${schema}.resource as enum ('test_node rebuild')`);
	await value(`select throttle_create($1::${schema}.resource, $2)`, 'test_node rebuild', '1 hour');
	assert.equal(await value(`select lock_throttled_resource($1::${schema}.resource, $2)`, 'test_node rebuild', 'node'), true);
	assert.equal(await value('select lock_throttled_resource($1, $2)', 'test_node rebuild', 'node'), false);
	assert.equal(await value(`select throttle_drop($1::${schema}.resource)`, 'test_node rebuild'), true);
});

// Node's Date has no microseconds, so the row that it reads is no receipt; the text is one, on
// another connection, under other settings, after the table got a column.
test('a receipt', async () => {
	const table = `${schema}.moments`;
	await client.query(`create table ${table} (name text, at timestamptz(6), taken timestamptz, primary key (name, at))`);
	await client.query(`create index on ${table} (name) where taken is null`);
	await client.query(`insert into ${table} select 'grün ' || i, '2020-01-02 03:04:05.678901+00' from generate_series(1, 6) as i`);
	await value('select queue_attach($1, $2, $3, $4, $5, on_complete => null, on_release => $6, on_fail => $6, on_extend => $5)', table, table,
		'taken is null', 'name', 'taken = call_time', 'taken = null');
	const popped = await rows(`select *, queue_receipt($2, j) as receipt from queue_pop_rows($1::${table}, $2, $3) as j`, null, table, 6);
	const row = JSON.parse(JSON.stringify(popped[0]));
	assert.equal(await value(`select queue_complete_row($1, ($2, $3, $4)::${table})`, table, row.name, row.at, row.taken), false);
	const receipts = popped.map((job) => job.receipt);
	for (const receipt of receipts) assert.match(receipt, /^[\w-]+$/);

	await client.query(`alter table ${table} add column note text default 'x'`);
	const other = new pg.Client({ client_encoding: 'LATIN1', options: '-c datestyle=German -c timezone=Asia/Kathmandu -c intervalstyle=iso_8601 -c extra_float_digits=0' });
	await other.connect();
	try {
		const ask = async (text, ...values) => Object.values((await other.query(text, values)).rows[0])[0];
		const renewed = await ask('select queue_extend_receipt($1, $2)', table, receipts[0]);
		assert.notEqual(renewed, receipts[0]);
		assert.equal(await ask('select queue_extend_receipt($1, $2, $3)', table, receipts[0], '1 hour'), null);
		assert.equal(await ask('select queue_complete_receipt($1, $2)', table, renewed), true);
		assert.equal(await ask('select queue_complete_receipt($1, $2)', table, renewed), false);
		assert.equal(await ask('select queue_release_receipt($1, $2)', table, receipts[1]), true);
		assert.equal(await ask('select queue_fail_receipt($1, $2, $3, $4)', table, receipts[2], 'broken', '1 hour'), true);
		const rest = receipts.slice(3);
		const again = (await other.query('select queue_extend_receipts($1, $2) as receipt', [table, rest])).rows.map((r) => r.receipt);
		assert.equal(again.length, 3);
		assert.equal(await ask('select queue_release_receipts($1, $2)', table, [again[0]]), again[0]);
		assert.equal(await ask('select queue_fail_receipts($1, $2, $3)', table, [again[1]], ['broken']), again[1]);
		assert.equal(await ask('select queue_complete_receipts($1, $2)', table, [receipts[0], again[2]]), again[2]);
		await assert.rejects(ask('select queue_complete_receipt($1, $2)', table, `${renewed}x`), (error) => {
			assert.equal(error.code, '22P02');
			assert.match(error.hint, /queue_receipt/);
			return true;
		});
	} finally {
		await other.end();
	}
	assert.deepEqual(await column(`select name from ${table} where taken is null order by name`), ['grün 2', 'grün 3', 'grün 4', 'grün 5']);
	await value('select queue_detach($1)', table);
});

test('locks', async () => {
	assert.equal(await value('select mutex_acquire($1)', queue), true);
	assert.equal(await value('select mutex_acquire($1)', queue), false);
	assert.equal(await value('select mutex_release($1)', queue), true);
	assert.deepEqual(await rows('select * from mutex_acquire_fenced($1)', queue), [{ acquired: true, token: '2' }]);
	assert.equal(await value('select mutex_release($1, $2)', queue, 1), false);
	assert.equal(await value('select mutex_release($1, $2)', queue, 2), true);
	assert.equal(await value('select timeout_acquire($1, $2)', queue, '1 hour'), true);
	assert.deepEqual(await rows('select * from timeout_acquire_fenced($1, $2)', queue, '1 hour'), [{ acquired: false, token: null }]);
	await value('select lock_set_retries($1, $2)', queue, 0);
	assert.equal(await value('select mutex_release($1)', queue), true);
	assert.equal(await value('select mutex_acquire($1)', queue), false);
	await rows('delete from named_lock where task_id = $1', queue);
});

test('an error has its SQLSTATE and its hint', async () => {
	await assert.rejects(rows('select * from queue_pop($1)', 'emials'), (error) => {
		assert.equal(error.code, '42704');
		assert.match(error.hint, /queue_create\('emials'\)/);
		return true;
	});
});

test('a named statement outlives a change of the queue', async () => {
	const send = (payload) => client.query({ name: 'send', text: 'select queue_send($1, $2) as id', values: [queue, payload] });
	const pop = () => client.query({ name: 'pop', text: 'select id, payload from queue_pop($1)', values: [queue] });
	for (const payload of [1, 2]) {
		await value('select queue_create($1)', queue);
		await send(payload);
		assert.deepEqual((await pop()).rows, [{ id: '1', payload }]);
		await value('select queue_drop($1)', queue);
	}
});
