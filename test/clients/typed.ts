// How a program uses the client for Node.js; test/clients/run compiles it. What has a @ts-expect-error must not pass.

import pg from 'pg';
import { Fail, type JobClient, Queue, Release, Retry, run, stop, worker } from 'queue-ext';
import { runDue, sent } from 'queue-ext/testing';

const emails = new Queue<{ to: string }>('emails');

export const sendEmail = worker(emails, { kinds: ['mail'], concurrency: 4, heartbeat: 5 }, async (job, client) => {
	const to: string = job.payload.to;
	job.progress = { sent: 1 };
	if (job.signal.aborted) throw new Release({ runAt: new Date() });
	if (!to) throw new Fail('no address');
	if (job.attempt > 3) throw new Retry('busy', { delay: '1 minute' });
	await client.query('insert into mails values ($1)', [to]);
	await log(client, to);
	await emails.send(client, { to });
	// @ts-expect-error
	client.query('select 1', (error: Error) => console.log(error));
	return { to };
});

async function log(client: JobClient, to: string): Promise<void> {
	const { rows } = await client.query<{ n: number }>({ text: 'select $1::integer as n', values: [to.length] });
	const n: number = rows[0].n;
	const arrays = await client.query({ text: 'select 1', rowMode: 'array' });
	console.log(n, arrays.rows[0][0], client.escapeLiteral(to));
}

export const delays = (error: Retry | Release) => ('delay' in error ? error.delay : error.runAt);

export async function main(client: pg.Client, pool: pg.Pool): Promise<void> {
	const id: string = await emails.send(client, { to: 'ann' }, { priority: -1, runAt: new Date(), expiresIn: '1 hour' });
	const ids: string[] = await emails.sendMany(pool, [{ to: 'bob' }]);
	const { inserted } = await emails.sendOnce(pool, { to: id }, { uniqueBy: ['to'], period: '1 hour', onConflict: 'replace' });
	const waiting: { to: string }[] = inserted ? await sent(client, emails) : [];
	const done = await runDue(client, [sendEmail]);
	console.log(ids, waiting, done[0].id, done[0].runAt.getTime());
	// @ts-expect-error
	await emails.send(client, { from: 'ann' });
	// @ts-expect-error
	await emails.send(client, { to: 'ann' }, { period: '1 hour' });
	stop();
	await run({ connection: { host: 'localhost' }, handlers: [sendEmail], signals: [] });
}
