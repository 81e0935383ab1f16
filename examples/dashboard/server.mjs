#!/usr/bin/env node
// server.mjs - a page that shows the queues of a database, and with --write acts on them.
//
//   server.mjs [--port 8080] [--origin https://queues.example.com] [--write]
//
// It does not ask who is there: whoever reaches it sees what its role may read, and with --write
// does what its role may do. So it listens on localhost only. Who else may reach it is for a proxy
// in front of it to decide, which authenticates, and whose origin --origin names. The database is
// that of pg (PGHOST, PGDATABASE, ...).
//
// Values reach SQL as parameters only. Names of tables and columns cannot be parameters: they are
// those of the catalog, quoted by PostgreSQL.

import { randomBytes, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { parseArgs } from 'node:util';
import pg from 'pg';

const { values: options } = parseArgs({
	options: {
		port: { type: 'string', default: '8080' },
		origin: { type: 'string', multiple: true, default: [] },
		write: { type: 'boolean', default: false },
	},
});
const outside = options.origin.map((address) => new URL(address).origin);
const token = randomBytes(32).toString('base64url'); // for pages that can read this process's answers
const longest = 20_000; // characters of a value that the page shows
const most = 10_000, shown = 50; // jobs among which a list looks, and that it has at most

const pool = new pg.Pool({
	max: 4, application_name: 'queue_ext dashboard', connectionTimeoutMillis: 3_000, query_timeout: 10_000,
});
// Of a connection that ends between two queries the next one says so; without a listener the process ends.
pool.on('error', () => {});
pool.on('connect', (client) => client.on('error', () => {}));

// What is refused without an error of the database.
class Refusal extends Error {
	constructor(status, message) {
		super(message);
		this.status = status;
	}
}

// All settings are those of the transaction, so that it works through a transaction pooler, too.
// Without --write none can write, whatever a policy of a table calls. No name means what others
// have made: query.at is the quoted schema of the extension, with a dot.
async function transaction(mode, work) {
	const client = await pool.connect();
	try {
		const begun = await client.query(`begin ${options.write ? mode : 'read only'}; set local statement_timeout = '5s';
			set local search_path = pg_catalog, pg_temp;
			select quote_ident(nspname) || '.' as at from pg_extension e join pg_namespace n on n.oid = e.extnamespace
			where extname = 'queue_ext'`);
		const query = async (text, ...values) => (await client.query(text, values)).rows;
		query.at = begun.at(-1).rows[0]?.at;
		if (!query.at) throw new Refusal(404, 'The database has no extension queue_ext.');
		const result = await work(query);
		await client.query('commit');
		client.release();
		return result;
	} catch (error) {
		await (isAway(error) ? Promise.reject() : client.query('rollback')).then(() => client.release(), () => client.release(true));
		throw error;
	}
}

const read = (work) => transaction('read only', work);
const isAway = (error) =>
	!(error instanceof Refusal) && (!(error instanceof pg.DatabaseError) || /^(08|53|57P)/.test(error.code));

// One part of an answer: if the role may not see it, or it takes too long, the others are shown.
async function part(work) {
	try {
		return await read(work);
	} catch (error) {
		if (isAway(error)) throw error;
		return { error: error.message };
	}
}

const statistics = ['sent', 'claimed', 'completed', 'failed', 'retried', 'dead', 'moved', 'unstarted', 'released', 'cancelled', 'expired',
	'duplicates', 'waits', 'waiting', 'ready', 'ready_exact', 'scheduled', 'leased', 'oldest_exact', 'since', 'oldest'];
const queuesText = (at) => `
	with path as materialized (
		select queue, string_agg(distinct path, '; ') as path from ${at}queue_claim_stats group by queue
	), stats as (
		select *, extract(epoch from clock_timestamp() - oldest_ready_at)::float8 as oldest from ${at}queue_stats
	)
	select q.queue, q.managed, q.paused, extract(epoch from clock_timestamp())::float8 as now,
		${statistics.map((name) => `s.${name}`).join(', ')}, p.path
	from ${at}queues q left join path p using (queue) left join stats s using (queue) order by queue`;
// For the SQL of 0.1, and for roles that may not read statistics: unknown is null.
const bareQueuesText = (at) => `
	select queue, managed, paused, extract(epoch from clock_timestamp())::float8 as now,
		${statistics.map((name) => `null as ${name}`).join(', ')}, null as path
	from ${at}queues order by queue`;

async function queues() {
	let list = await part((query) => query(queuesText(query.at)));
	if (list.error) list = await read((query) => query(bareQueuesText(query.at)));
	return { token: options.write ? token : null, queues: list };
}

// The table of a managed queue, or its archive, if it has one: the quoted name and its columns.
async function table(query, queue, which) {
	const [found] = await query(`
		select q.managed, format('%I.%I', n.nspname, c.relname) as name, c.oid
		from ${query.at}queues q left join pg_class c on c.oid = ${which === 'archive' ? 'q.archive' : 'q.source'}
			left join pg_namespace n on n.oid = c.relnamespace
		where q.queue = $1`, queue);
	if (!found) throw new Refusal(404, 'There is no such queue.');
	if (!found.managed) throw new Refusal(404, 'The jobs of an attached queue are in its table; they are not shown here.');
	found.columns = await query(`
		select attname::text as name, quote_ident(attname) as quoted,
			has_column_privilege(attrelid, attnum, 'SELECT') as may_read
		from pg_attribute where attrelid = $1 and attnum > 0 and not attisdropped order by attnum`, found.oid);
	found.readable = found.columns.filter((column) => column.may_read);
	found.has = (name) => found.readable.some((column) => column.name === name);
	found.needs = (...names) => {
		const missing = names.filter((name) => !found.has(name));
		if (missing.length) throw new Refusal(403, `The dashboard's role may not read ${missing.join(', ')} of ${found.name}.`);
	};
	return found.oid ? found : null;
}

// By the first line of their last error; of a long one the rest is not read.
const errorGroup = "coalesce(split_part(left(last_error, 200), E'\\n', 1), '')";
const histogram = (view, queue) => part((query) =>
	query(`select le::text, jobs, total_seconds from ${query.at}${view} h where queue = $1 order by h.le`, queue));

async function queue({ queue }) {
	const [definition] = await read((query) => query(`
		select queue, source::text as table, managed, claim_mode, paused, lease::text, max_attempts, archive::text,
			pending, order_by, on_claim, on_complete, on_release, on_fail, created_at::text from ${query.at}queues where queue = $1`, queue));
	if (!definition) throw new Refusal(404, 'There is no such queue.');
	const path = await part((query) => query(`select * from ${query.at}queue_claim_path($1)`, queue));
	return {
		definition, most, path: path[0] ?? path,
		wait: await histogram('queue_wait_histogram', queue), run: await histogram('queue_run_histogram', queue),
		dead: await part(async (query) => {
			const { name, needs } = await table(query, queue);
			needs('dead_at', 'last_error');
			return query(`
				select ${errorGroup} as error, count(*), date_trunc('second', max(dead_at))::text as last, sum(count(*)) over () as total
				from (select last_error, dead_at from ${name} where dead_at <= now() order by dead_at desc limit ${most}) as dead
				group by 1 order by 2 desc, 1 limit ${shown}`);
		}),
	};
}

// Lists look among the first jobs in the order of claims, the last that died, the newest of the
// archive, so that a long queue is never read as a whole.
const first = 'select * from TABLE where dead_at is null order by priority, run_at, id limit ' + most;
const states = {
	ready: [first, 'run_at <= now() and (leased_until is null or leased_until <= now())'],
	scheduled: [first, 'run_at > now() and (leased_until is null or leased_until <= now())'],
	// What has its last attempt has left the order of claims.
	leased: [`(select * from TABLE where dead_at > now() limit ${most}) union all (${first})`, 'leased_until > now()'],
	dead: [`select * from TABLE where dead_at <= now() order by dead_at desc limit ${most}`, 'true'],
	archive: [`select * from TABLE order by id desc limit ${most}`, 'true'],
};
const timed = ['run_at', 'leased_until', 'dead_at'];
const stateText = `case when dead_at <= now() then 'dead' when leased_until > now() then 'leased'
	when run_at > now() then 'scheduled' else 'ready' end`;
const excerpts = {
	id: 'id::text', state: 'state', kind: 'left(kind, 200)', priority: 'priority', attempt: 'attempt',
	max_attempts: 'max_attempts', leased_by: 'left(leased_by, 200)', last_error: 'left(last_error, 200)',
	...Object.fromEntries([...timed, 'finished_at'].map((name) => [name, `date_trunc('second', ${name})::text`])),
	payload: "case when pg_column_size(payload) <= 2000 then left(payload::text, 200) else '(long)' end",
};

async function jobs({ queue, state, error }) {
	if (!Object.hasOwn(states, state)) throw new Refusal(400, 'There is no such state.');
	return part(async (query) => {
		const found = await table(query, queue, state);
		if (!found) return [];
		found.needs('id', ...(state === 'archive' ? [] : ['priority', ...timed]));
		const names = Object.keys(excerpts).filter(found.has);
		const [among, condition] = states[state];
		// A role that may read some columns only may not say "*".
		const from = among.replaceAll('*', names.join(', ')).replaceAll('TABLE', () => found.name);
		return query(`select ${names.map((name) => `${excerpts[name]} as ${name}`).join(', ')} from (${from}) as job
			where (${condition}) and ($1::text is null or ${found.has('last_error') ? errorGroup : 'null'} = $1)
			limit ${shown}`, error);
	});
}

// All that the row and the archive hold of a job; long values are cut.
async function job({ queue, id }) {
	const held = (which) => part(async (query) => {
		const found = await table(query, queue, which);
		found?.needs('id');
		const texts = found?.readable.map(({ quoted }) => (quoted === 'payload' ? 'jsonb_pretty(payload)' : `${quoted}::text`));
		const [row] = !found ? [] : await query(`select array[${texts.map((text) => `left(${text}, ${longest})`)}] as texts,
			array[${texts.map((text) => `length(${text})`)}] as lengths,
			${which === 'source' && timed.every(found.has) ? stateText : 'null'} as state from ${found.name} where id = $1`, id);
		return row && {
			state: row.state,
			values: found.readable.map(({ name }, at) => ({ name, text: row.texts[at], length: row.lengths[at] })),
			hidden: found.columns.filter((column) => !column.may_read).map((column) => column.name),
		};
	});
	return { source: await held('source'), archive: await held('archive') };
}

const value = ({ queue, id, column, which }) => read(async (query) => {
	const found = await table(query, queue, which);
	const quoted = found?.readable.find(({ name }) => name === column)?.quoted;
	const [row] = quoted ? await query(`select ${quoted}::text as text from ${found.name} where id = $1`, id) : [];
	if (!row) throw new Refusal(404, 'There is no such value.');
	return row.text ?? '';
});

// Reads the whole table, so only when someone asks for it.
const counts = ({ queue }) => read(async (query) => (await query(`select * from ${query.at}queue_counts($1)`, queue))[0]);

const call = (text, ...values) => transaction('read write', async (query) => (await query(`select ${query.at}${text} as done`, ...values))[0]);
const actions = {
	pause: ({ queue }) => call('queue_pause($1)', queue),
	resume: ({ queue }) => call('queue_resume($1)', queue),
	cancel: ({ queue, id, attempt }) => call('queue_cancel($1, $2, $3)', queue, id, attempt),
	requeue: ({ queue, id, attempt }) => call('queue_requeue($1, $2, $3)', queue, id, attempt),
	// Those that are dead by now, 1,000 in a transaction: some may die again meanwhile. What is done
	// stays done if the rest cannot be.
	async requeue_error({ queue, error }) {
		const [{ now }] = await read((query) => query('select now()::text as now'));
		for (let sum = 0; ; ) {
			try {
				const [{ done }] = await transaction('read write', async (query) => {
					const { name } = await table(query, queue);
					return query(`
						with job as (select id, attempt from ${name} where dead_at <= $2 and ${errorGroup} = $3 limit 1000),
						argument as (select coalesce(array_agg(id), '{}') as ids, coalesce(array_agg(attempt), '{}') as attempts from job)
						select count(id)::integer as done from argument, ${query.at}queue_requeue_many($1, ids, attempts) as id`, queue, now, error);
				});
				if (done === 0) return { done: sum };
				sum += done;
			} catch (failure) {
				if (sum === 0) throw failure;
				return { done: sum, failure: isAway(failure) ? 'The database does not answer.' : failure.message };
			}
		}
	},
};

const files = Object.fromEntries(Object.entries({ '': 'html', 'page.js': 'javascript', 'page.css': 'css' }).map(([name, type]) =>
	[`/${name}`, { type: `text/${type}; charset=utf-8`, text: readFileSync(new URL(name || 'index.html', import.meta.url)) }]));
const views = { queues, queue, jobs, job, value, counts };
const headers = {
	'Content-Security-Policy': "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; "
		+ "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
	'X-Content-Type-Options': 'nosniff', 'Referrer-Policy': 'no-referrer', 'Cache-Control': 'no-store',
	'Cross-Origin-Resource-Policy': 'same-origin', 'Cross-Origin-Opener-Policy': 'same-origin',
};
let origins;

// Only pages of ours may act: by their origin, and by the token, which no other page can read.
function checkOrigin(request) {
	const given = Buffer.from(request.headers['x-csrf-token'] ?? ''), wanted = Buffer.from(token);
	if (!origins.has(request.headers.origin) || !['same-origin', undefined].includes(request.headers['sec-fetch-site'])
		|| given.length !== wanted.length || !timingSafeEqual(given, wanted))
		throw new Refusal(403, 'This request does not come from the page.');
}

async function act(request, name) {
	if (!options.write) throw new Refusal(405, 'The dashboard only reads: it was started without --write.');
	checkOrigin(request);
	if (!Object.hasOwn(actions, name)) throw new Refusal(404, 'There is no such action.');
	let body = '';
	for await (const piece of request.setEncoding('utf8'))
		if ((body += piece).length > 10_000) throw new Refusal(413, 'The request is too long.');
	const { queue, id, attempt, error } = Object(JSON.parse(body));
	const result = await actions[name]({ queue, id, attempt, error });
	console.log(JSON.stringify({ at: new Date(), user: request.headers['x-forwarded-user'], action: name, queue, id, error, ...result }));
	return result;
}

async function answer(request) {
	// Another name that resolves to this address is not ours.
	if (![...origins].some((origin) => new URL(origin).host === request.headers.host)) throw new Refusal(421, 'This is another host.');
	const { pathname, searchParams } = new URL(request.url, 'http://localhost');
	const name = pathname.replace(/^\/api\//, '');
	if (request.method === 'POST') return act(request, name);
	if (request.method !== 'GET') throw new Refusal(405, 'There is no such method.');
	if (Object.hasOwn(files, pathname)) return files[pathname];
	if (name === pathname || !Object.hasOwn(views, name)) throw new Refusal(404, 'There is no such page.');
	// Pages of others cannot read the answer; nor can they make the database work.
	if (!['same-origin', 'none', undefined].includes(request.headers['sec-fetch-site'])) throw new Refusal(403, 'This request does not come from the page.');
	const result = await views[name](Object.fromEntries(searchParams));
	return typeof result === 'string' ? { type: 'text/plain; charset=utf-8', text: result, file: true } : result;
}

const server = createServer(async (request, response) => {
	let status = 200, result;
	try {
		result = await answer(request);
	} catch (error) {
		const isBad = error instanceof SyntaxError || error instanceof TypeError || !isAway(error);
		status = error.status ?? (isBad ? 400 : 503);
		if (status === 503) console.error(error.message);
		result = { error: status === 503 ? 'The database does not answer.' : error.message };
	}
	const { type, text, file } = result?.type ? result : { type: 'application/json', text: JSON.stringify(result) };
	response.writeHead(status, { ...headers, 'Content-Type': type, ...(file && { 'Content-Disposition': 'attachment; filename="value.txt"' }) });
	response.end(text);
});

server.on('error', ({ message }) => {
	console.error(message);
	process.exit(1);
});
server.listen(Number(options.port), '127.0.0.1', () => {
	const { port } = server.address();
	origins = new Set([`http://localhost:${port}`, `http://127.0.0.1:${port}`, ...outside]);
	console.log(`http://localhost:${port}/ ${options.write ? 'acts' : 'only reads'}`);
});
