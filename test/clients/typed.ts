// How a program uses the client for Node.js; test/clients/run compiles it. What has a @ts-expect-error must not pass.

import pg from 'pg';
import { Queue, Release, Retry, run, stop, worker } from 'queue-ext';
import { runDue, sent } from 'queue-ext/testing';

const emails = new Queue<{ to: string }>('emails');

export const sendEmail = worker(emails, { kinds: ['mail'], concurrency: 4, heartbeat: 5 }, async (job, client) => {
	const to: string = job.payload.to;
	if (job.signal.aborted) throw new Release({ runAt: new Date() });
	if (job.attempt > 3) throw new Retry('busy', { delay: '1 minute' });
	await client.query('insert into mails values ($1)', [to]);
	return { to };
});

export async function main(client: pg.Client, pool: pg.Pool): Promise<void> {
	const id: string = await emails.send(client, { to: 'ann' }, { priority: -1, runAt: new Date() });
	const ids: string[] = await emails.sendMany(pool, [{ to: 'bob' }]);
	const { inserted } = await emails.sendOnce(pool, { to: id }, { uniqueBy: ['to'], period: '1 hour' });
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
