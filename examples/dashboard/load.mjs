#!/usr/bin/env node
// load.mjs - queues and workers to look at, until it is told to stop.
//
//   load.mjs        in the database of pg (PGHOST, PGDATABASE, ...), in which it creates the
//                   extension, if need be, and queues in a schema "shop"
//
// Senders and workers share a few connections. The workers of "shop.emails" fail at times, some
// jobs until they are dead; those of "shop.thumbnails" take their time; "shop.reports" are for
// later, and nobody works at "shop.newsletter".

import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

const pool = new pg.Pool({ max: 8, application_name: 'queue_ext load' });
pool.on('error', () => {});
let isOver = false;
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => { isOver = true; });

const row = async (text, ...values) => (await pool.query(text, values)).rows[0];
const among = (...choices) => choices[Math.floor(Math.random() * choices.length)];

// Again and again, also when the server has been away.
async function forever(pause, work) {
	while (!isOver) {
		await work().catch((error) => { if (error instanceof pg.DatabaseError && !/^(08|53|57P)/.test(error.code)) throw error; });
		await sleep(pause * (0.5 + Math.random()));
	}
}

const sender = (queue, pause, payload, retries = 25) => forever(pause, () =>
	row('select queue_send($1, $2, priority => $3, max_attempts => $4)', queue, payload(), among(0, 0, 0, -5), retries));

const worker = (queue, name, time, errorOf = () => null) => forever(40, async () => {
	const job = await row('select id, attempt, payload from queue_pop($1, worker => $2)', queue, name);
	if (!job) return sleep(100);
	await sleep(time * (0.3 + Math.random() * 1.4));
	const error = errorOf(job);
	if (error) await row("select queue_fail($1, $2, $3, $4, retry_in => '2 seconds')", queue, job.id, job.attempt, error);
	else await row('select queue_complete($1, $2, $3)', queue, job.id, job.attempt);
});

await pool.query(`
	create extension if not exists queue_ext;
	create schema if not exists shop;
	select queue_create('shop.' || name, lease => '20 seconds', archive => name = 'emails')
	from unnest(array['emails', 'thumbnails', 'reports', 'newsletter']) as name
	where to_regclass('shop.' || name) is null;
	create table if not exists shop.orders (id bigint generated always as identity primary key, packed timestamptz);
	create index if not exists orders_to_pack on shop.orders (id) where packed is null;
	select queue_attach('shop.packing', 'shop.orders', pending => 'packed is null', order_by => 'id', on_claim => 'packed = call_time', wake => true)
	where not exists (select from queues where queue = 'shop.packing');
	select queue_pause('shop.newsletter');
	select queue_send('shop.reports', '{"report": "sales"}', run_at => now() + n * interval '1 hour') from generate_series(1, 12) as n`);

const people = ['ann', 'bob', 'chen', 'dora', 'emre', 'fay'];
const emailError = ({ payload: { to, broken } }) => broken ?? (Math.random() < 0.05 ? `421 ${to}: try again later` : null);
const email = () => ({
	to: `${among(...people)}@example.com`, subject: among('Your order', 'Welcome', 'Reset your password'),
	...(Math.random() < 0.03 && { broken: among('550 no such mailbox', '550 no such mailbox', '554 message refused as spam') }),
});
await Promise.all([
	sender('shop.emails', 60, email, 2), sender('shop.thumbnails', 220, () => ({ photo: `${among('beach', 'tower', 'harbour')}.jpg`, width: 320 })),
	sender('shop.newsletter', 3000, () => ({ issue: 12 })),
	...[1, 2, 3].map((number) => worker('shop.emails', `mailer ${number}`, 60, emailError)),
	...[1, 2].map((number) => worker('shop.thumbnails', `painter ${number}`, 500)),
	forever(300, () => row('insert into shop.orders default values')),
	forever(400, () => row("select queue_pop_rows(null::shop.orders, 'shop.packing')")),
]);
await pool.end();
