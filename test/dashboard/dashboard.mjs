// dashboard.mjs - runs examples/dashboard at the server of PGHOST, which test/dashboard/run has
// started, with the workers of load.mjs, jobs that would do harm in a page that trusted them, and
// chromium. Prints TAP. Nothing depends on how long anything takes: dashboards are patient, but for one whose server hangs.

import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import pg from 'pg';
import { open } from './browser.mjs';

const area = process.env.AREA;
const examples = new URL('../../examples/dashboard/', import.meta.url).pathname;
const patient = { NODE_OPTIONS: `--require ${new URL('patient.cjs', import.meta.url).pathname}` };
const children = new Set();
let tests = 0, failed = 0;

function is(name, given, wanted) {
	const isOk = isDeepStrictEqual(given, wanted);
	console.log(`${isOk ? 'ok' : 'not ok'} ${++tests} - ${name}`);
	if (isOk) return;
	failed++;
	console.log(`got ${JSON.stringify(given)}, expected ${JSON.stringify(wanted)}`.slice(0, 4000).replace(/^/gm, '# '));
}

const ok = (name, given) => is(name, Boolean(given), true);

const pool = new pg.Pool({ max: 2 });
pool.on('error', () => {});
const rows = async (text, ...values) => (await pool.query(text, values)).rows;
const one = async (text, ...values) => Object.values((await rows(text, ...values))[0])[0];

function start(program, options, environment = {}) {
	return run(process.execPath, [examples + program, ...options], environment);
}

function run(program, options, environment = {}) {
	const child = spawn(program, options, { env: { ...process.env, ...environment }, stdio: ['ignore', 'pipe', 'inherit'] });
	children.add(child);
	child.on('exit', () => children.delete(child));
	return child;
}

// A dashboard: its port, and the lines that it prints.
async function serve(options = [], environment = {}) {
	const child = start('server.mjs', ['--port', '0', ...options], { ...patient, ...environment });
	const lines = [];
	const url = await new Promise((resolve, reject) => {
		createInterface(child.stdout).on('line', (line) => {
			lines.push(line);
			resolve(line.split(' ')[0]);
		});
		child.on('exit', () => reject(new Error('the dashboard has ended')));
	});
	return { url, port: new URL(url).port, lines, end: () => end(child) };
}

const end = (child) => new Promise((resolve) => {
	child.on('exit', resolve);
	child.kill('SIGTERM');
});

// Another program's page, at a port of its own.
const elsewhere = (text) => new Promise((resolve) => {
	const server = http.createServer((_, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end(text));
	server.listen(0, '127.0.0.1', () => resolve({ port: server.address().port, end: () => server.close() }));
});

// A request with any headers, which fetch would not send.
const request = (port, path, { method = 'GET', headers = {}, body } = {}) => new Promise((resolve, reject) => {
	const sent = http.request({ host: '127.0.0.1', port, path, method, headers }, (response) => {
		let text = '';
		response.setEncoding('utf8').on('data', (piece) => { text += piece; });
		response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, text }));
	});
	sent.on('error', reject);
	sent.end(body);
});

const server = (action) => execFileSync('pg_ctl', ['-D', `${area}/cluster/data`, '-l', `${area}/cluster/server.log`, '-m', 'fast', '-w', action],
	{ stdio: 'ignore' });

// ---- names and values that a page could take for markup, or be broken by

const markup = '<img src=x onerror="document.title=1;alert(1)">';
const names = {
	markup, quotes: 'it\'s "\\ $1 %s {{7*7}}\n</table>', long: `${'m'.repeat(59)}日x`, right: 'תור\u202eדואר\u2066<b>',
	proto: '__proto__', plain: 'ledger',
};
const big = 'x<script>'.repeat(120_000);
const quoted = (name) => `"${name.replaceAll('"', '""')}"`;
const shownName = Object.fromEntries(await Promise.all(Object.entries(names).map(async ([key, name]) =>
	[key, await one("select format('%I.%I', 'odd', $1::text)", name)])));

async function prepare() {
	await pool.query(`create extension queue_ext; create schema odd; create role watcher login; create role worker login;
		grant usage on schema odd to watcher, worker;
		create function public.quote_ident(name) returns text language plpgsql as $$ begin raise 'hijacked'; end $$`);
	for (const name of Object.values(names))
		await rows("select queue_create($1, archive => octet_length($2) < 50, lease => '1 day', backoff_base => '1 second')", `odd.${quoted(name)}`, name);
	const queue = shownName.markup;
	await rows('select queue_send_many($1, $2)', queue, [{ [markup]: `</pre>${markup}` }, { big }, '"\u202e\u2066]]>"', 4, 5, 6].map((value) => JSON.stringify(value)));
	// Dead by two errors, one by none, one leased; and others completed.
	await rows('select queue_send_many($1, (select array_agg(to_jsonb(n)) from generate_series(1, 30) n), max_attempts => 1)', shownName.plain);
	await rows('select queue_fail_many($1, array_agg(id), array_agg(attempt), array_agg(case when id <= 9 then $2 end)) from queue_pop($1, 12)',
		shownName.plain, `${markup}\nat line ${big.slice(0, 50_000)}`);
	await rows('select queue_complete_many($1, array_agg(id), array_agg(attempt)) from queue_pop($1, 10)', shownName.plain);
	await rows('select queue_pop($1, 1, worker => $2)', shownName.plain, markup);
	await rows('select queue_pop($1, 1, worker => $2)', queue, markup);
	await pool.query(`update odd.${quoted(markup)} set last_error = ${pg.escapeLiteral(markup)}, kind = ${pg.escapeLiteral(markup)} where id = 1`);
	await pool.query(`alter table odd.${quoted(markup)} add column ${quoted(markup)} text default ${pg.escapeLiteral(markup)}`);
	await pool.query('create table odd.mine (id int primary key, done boolean not null default false); create index on odd.mine (id) where not done');
	await pool.query("select queue_attach('odd.mine', 'odd.mine', pending => 'not done', order_by => 'id', on_claim => 'done = true')");
	await pool.query('grant select (run_at, leased_until, dead_at) on odd.ledger to watcher');
}

// ---- functions that run in the page

const cellOf = (name, label) => [...document.querySelectorAll('#queues tbody tr')]
	.find((row) => row.querySelector('a').textContent === name)?.querySelector(`[data-label="${label}"] > *`).textContent;
const list = (id) => [...document.querySelectorAll(`#${id} tbody tr`)].map((row) =>
	[...row.children].map((cell) => cell.textContent));
const focused = () => document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent;

// Waits until the page has asked so many times, and has had the answer.
async function refreshed(page, times) {
	await page.run(() => performance.clearResourceTimings());
	await page.until((wanted) => performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('api/queues?')).length > wanted, times);
}

// Waits until the cell is as wanted.
async function cellIs(page, name, label, isWanted) {
	for (let tries = 0; tries < 1200; tries++) {
		if (isWanted(await page.run(cellOf, name, label))) return;
		await sleep(100);
	}
	throw new Error(`not within two minutes: ${label} of ${name}`);
}

// Texts that the screen is too narrow for.
const beyond = () => [...document.querySelectorAll('body *')].filter((node) => node.checkVisibility() && !node.closest('pre')
	&& node.getBoundingClientRect().right > innerWidth + 1).map((node) => node.textContent.slice(0, 40));

// Texts with less contrast than 4.5, as WCAG computes it.
const faint = () => {
	const parse = (text) => text.match(/[\d.]+/g).map(Number);
	const light = ([r, g, b]) => [r, g, b].map((part) => part / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
		.reduce((sum, part, place) => sum + part * [0.2126, 0.7152, 0.0722][place], 0);
	const found = [];
	for (const node of document.querySelectorAll('body *')) {
		const text = [...node.childNodes].filter(({ nodeType }) => nodeType === 3).map(({ data }) => data).join('').trim();
		if (!text || !node.checkVisibility()) continue;
		let under = node;
		while (under.parentElement && parse(getComputedStyle(under).backgroundColor)[3] === 0) under = under.parentElement;
		const style = getComputedStyle(node);
		const two = [node instanceof SVGElement ? style.fill : style.color, getComputedStyle(under).backgroundColor].map((color) => light(parse(color))).sort((a, b) => b - a);
		const contrast = (two[0] + 0.05) / (two[1] + 0.05);
		if (contrast < 4.5) found.push([text.slice(0, 40), contrast]);
	}
	return found;
};

// ---- the tests

let browser;

async function testRequests() {
	const { port, url, end: stop } = await serve();
	const get = (path, headers) => request(port, path, { headers });
	const listening = readFileSync('/proc/net/tcp', 'utf8') + readFileSync('/proc/net/tcp6', 'utf8');
	const hex = Number(port).toString(16).toUpperCase().padStart(4, '0');
	is('it listens on localhost only', listening.match(new RegExp(`\\S+:${hex} \\S+ 0A`, 'g')).map((line) => line.split(':')[0]), ['0100007F']);
	const index = await get('/');
	const policy = index.headers['content-security-policy'];
	ok('the policy allows no script or style but files of its own', /default-src 'none'; script-src 'self'; style-src 'self';/.test(policy)
		&& !/unsafe|data:|https?:|\*/.test(policy) && /frame-ancestors 'none'/.test(policy) && /form-action 'none'/.test(policy));
	is('nor has the page any', index.text.match(/<style|<script(?![^>]* src=)[^>]*>|\son[a-z]+=|\sstyle=/gi), null);
	is('types are not guessed', index.headers['x-content-type-options'], 'nosniff');
	for (const host of ['evil.example', `evil.example:${port}`, `localhost.evil.example:${port}`, `localhost:${port}0`])
		is(`the host "${host.replace(port, 'PORT')}" is refused`, (await get('/api/queues', { Host: host })).status, 421);
	for (const site of ['cross-site', 'same-site'])
		is(`reading is refused to ${site} pages`, (await get('/api/counts?queue=odd.ledger', { 'Sec-Fetch-Site': site })).status, 403);
	is('but not to its own', (await get('/api/counts?queue=odd.ledger', { 'Sec-Fetch-Site': 'same-origin' })).status, 200);
	const preflight = await request(port, '/api/pause', { method: 'OPTIONS',
		headers: { Origin: 'https://evil.example', 'Access-Control-Request-Method': 'POST', 'Access-Control-Request-Headers': 'x-csrf-token' } });
	is('no other origin is allowed anything', [preflight.status, Object.keys(preflight.headers).filter((name) => name.startsWith('access-control'))], [405, []]);
	for (const path of ['/server.mjs', '/../server.mjs', '/%2e%2e/server.mjs', '/api/constructor', '/api/__proto__'])
		is(`there is no ${path}`, (await get(path)).status, 404);
	is('a broken address is refused', (await get('//')).status, 400);
	const bad = encodeURIComponent('odd.ledger\' or true; drop table odd.ledger; --');
	is('a queue is a value, never SQL', (await get(`/api/queue?queue=${bad}`)).status, 404);
	is('a job is a value, too', JSON.parse((await get(`/api/job?queue=odd.ledger&id=${encodeURIComponent('1 or true')}`)).text).source.error.slice(0, 36),
		'invalid input syntax for type bigint');
	is('there is no such state', (await get('/api/jobs?queue=odd.ledger&state=constructor')).status, 400);
	is('and no such column', (await get(`/api/value?queue=odd.ledger&id=1&which=source&column=${bad}`)).status, 404);
	is('it only reads', (await request(port, '/api/pause', { method: 'POST', headers: { Origin: url.slice(0, -1) }, body: '{"queue": "odd.ledger"}' })).status, 405);
	is('and says no token', JSON.parse((await get('/api/queues')).text).token, null);
	const second = spawn(process.execPath, [`${examples}server.mjs`, '--port', port], { stdio: ['ignore', 'ignore', 'pipe'] });
	let said = '';
	second.stderr.on('data', (piece) => { said += piece; });
	is('a port that is taken is told', [await new Promise((resolve) => { second.on('close', resolve); }), said], [1, `listen EADDRINUSE: address already in use 127.0.0.1:${port}\n`]);
	await stop();

	const acting = await serve(['--write', '--origin', 'https://queues.example.com/']);
	const { token } = JSON.parse((await request(acting.port, '/api/queues')).text);
	const origin = `http://localhost:${acting.port}`;
	const post = async (headers, body = '{"queue": "odd.ledger"}') =>
		(await request(acting.port, '/api/pause', { method: 'POST', headers: { Origin: origin, 'X-CSRF-Token': token, ...headers }, body })).status;
	is('without a token nothing is done', await post({ 'X-CSRF-Token': '' }), 403);
	is('nor with another', await post({ 'X-CSRF-Token': token.replace(/^./, (first) => (first === 'A' ? 'B' : 'A')) }), 403);
	is('nor for a page of elsewhere', await post({ Origin: 'https://evil.example' }), 403);
	is('nor for no page', await post({ Origin: 'null' }), 403);
	is('nor for a page of another server of this machine', await post({ Origin: 'http://localhost:3000' }), 403);
	is('nor for one that is not encrypted', await post({ Origin: 'http://queues.example.com' }), 403);
	is('nor for another site', await post({ 'Sec-Fetch-Site': 'cross-site' }), 403);
	is('a long request is refused', await post({}, `{"queue": "${'x'.repeat(20_000)}"}`), 413);
	is('and one that is no JSON', await post({}, 'queue=1'), 400);
	is('the queue is not paused', await one("select paused from queues where queue = 'odd.ledger'"), false);
	is('the page may act', await post({}), 200);
	is('also behind a proxy', await post({ Origin: 'https://queues.example.com', Host: 'queues.example.com', 'X-Forwarded-User': 'ann' }), 200);
	is('the queue is paused', await one("select paused from queues where queue = 'odd.ledger'"), true);
	is('acts are logged', acting.lines.slice(1).map((line) => JSON.parse(line)).map(({ action, user, queue, done }) => [action, user, queue, done]),
		[['pause', undefined, 'odd.ledger', true], ['pause', 'ann', 'odd.ledger', false]]);
	await rows("select queue_resume('odd.ledger')");
	await acting.end();
}

// A table's policy can call anything. Looking at the table writes nothing even so.
async function testReadOnly() {
	const queue = shownName.proto, name = `odd.${quoted(names.proto)}`;
	await pool.query(`create table odd.noticed (); grant insert on odd.noticed to watcher; grant select on ${name} to watcher;
		create function odd.notice() returns boolean language plpgsql as $$ begin insert into odd.noticed default values; return true; end $$;
		alter table ${name} enable row level security; create policy noticing on ${name} to watcher using (odd.notice())`);
	await rows("select queue_send($1, '1')", queue);
	for (const options of [[], ['--write']]) {
		const { port, end: stop } = await serve(options, { PGUSER: 'watcher' });
		for (const path of ['jobs?state=ready', 'job?id=1', 'counts?'])
			ok(`looking at ${path.split('?')[0]} writes nothing${options.length ? ', with --write either' : ''}`,
				/read-only transaction/.test((await request(port, `/api/${path}&queue=${encodeURIComponent(queue)}`)).text));
		await stop();
	}
	is('nothing was written', await one('select count(*)::integer from odd.noticed'), 0);
	await pool.query(`drop policy noticing on ${name}; alter table ${name} disable row level security; revoke select on ${name} from watcher`);
}

// Pages of elsewhere, in the same browser as the dashboard.
async function testElsewhere() {
	const acting = await serve(['--write']);
	const other = await elsewhere('<!doctype html><title>elsewhere</title>');
	const target = `http://localhost:${acting.port}`;
	// Of another site, and of another port of this machine.
	for (const name of ['evil.example', 'localhost']) {
		const page = await browser.page(`http://${name}:${other.port}/`);
		await page.until(() => document.title === 'elsewhere');
		is(`a page of ${name} can read nothing and do nothing`, await page.run(async (to) => {
			const tries = [['queues', {}], ['pause', { method: 'POST', body: '{"queue": "odd.ledger"}' }],
				['pause', { method: 'POST', body: '{"queue": "odd.ledger"}', headers: { 'X-CSRF-Token': 'x' } }]];
			return Promise.all(tries.map(([path, init]) => fetch(`${to}/api/${path}`, init).then((response) => response.status, () => 'refused')));
		}, target), ['refused', 'refused', 'refused']);
		await page.run((to) => {
			const form = document.body.appendChild(document.createElement('form'));
			Object.assign(form, { method: 'POST', action: `${to}/api/pause`, enctype: 'text/plain' });
			const input = form.appendChild(document.createElement('input'));
			Object.assign(input, { name: '{"queue": "odd.ledger", "x": "', value: '"}' });
			setTimeout(() => form.submit());
		}, target);
		await page.until((to) => location.href === `${to}/api/pause`, target);
		is(`nor can its form`, await page.run(() => JSON.parse(document.body.textContent).error), 'This request does not come from the page.');
	}
	const framing = await browser.page(`http://evil.example:${other.port}/`);
	await framing.until(() => document.title === 'elsewhere');
	await framing.run((to) => { document.body.appendChild(document.createElement('iframe')).src = to; }, target);
	for (let tries = 0; tries < 1200 && !framing.complaints.length; tries++) await sleep(100);
	ok('nor can it have the page in a frame', /frame-ancestors/.test(framing.complaints.join()));
	const rebound = await browser.page(`http://evil.example:${acting.port}/`);
	is('a name that leads here leads nowhere', await rebound.until(() => document.body?.textContent), '{"error":"This is another host."}');
	is('for its requests either', await rebound.run(async () => (await fetch('/api/queues')).status), 421);
	is('no queue is paused', await one("select paused from queues where queue = 'odd.ledger'"), false);
	is('nothing was done', acting.lines.length, 1);
	other.end();
	await acting.end();
}

async function testShown() {
	const { url, end: stop } = await serve();
	const page = await browser.page(url);
	await page.look('light', 1280, 900);
	await page.until(cellOf, 'shop.emails', 'Ready');
	const cell = (name, label) => page.run(cellOf, name, label);
	is('all queues are shown, in any writing', await page.run(() => [...document.querySelectorAll('#queues tbody a')].map((node) => node.textContent)),
		(await rows('select queue from queues order by queue collate "C"')).map(({ queue }) => queue));
	await cellIs(page, 'shop.emails', 'Completed/s', (text) => Number(text) > 0);
	ok('rates are shown once there were two looks', true);
	is('unknown is not 0', [await cell('odd.mine', 'Scheduled'), await cell('odd.mine', 'Oldest ready')], ['unknown', 'unknown']);
	is('the path is shown', await cell('shop.emails', 'Path'), 'direct');

	await page.run((queue) => { location.hash = new URLSearchParams({ queue }); }, shownName.plain);
	await page.until((name) => document.title === `${name} - Queues` && document.querySelectorAll('#dead tbody tr').length === 2, shownName.plain);
	is('dead jobs are grouped by error', (await page.run(list, 'dead')).map(([error, count]) => [error, count]),
		[[markup, '9'], ['(no error: none was given, or the last lease ended)', '3']]);
	is('jobs by state', await page.run(() => [...document.querySelectorAll('#states a')].map((node) => node.textContent)),
		['Ready: 7', 'Scheduled: 0', 'Leased: 1', 'Dead: 12', 'Archive']);
	for (const [figure, view] of [['wait', 'queue_wait_histogram'], ['run', 'queue_run_histogram']]) {
		const drawn = await page.run((id) => [...document.querySelectorAll(`#${id} rect title`)].map((node) => Number(node.textContent.split(': ')[1])), figure);
		const counted = (await rows(`select jobs - lag(jobs, 1, 0::bigint) over (order by le) as jobs from ${view} where queue = $1 order by le`, shownName.plain))
			.map(({ jobs }) => Number(jobs));
		is(`${view} is drawn`, drawn, counted);
		ok(`${view} is not empty`, drawn.reduce((sum, jobs) => sum + jobs, 0) > 0);
	}
	for (const [state, count] of [['ready', 7], ['leased', 1], ['dead', 12], ['archive', 10]]) {
		await page.run((to) => { location.hash = to; }, `#${new URLSearchParams({ queue: shownName.plain, state })}`);
		await page.until((wanted) => document.querySelectorAll('#jobs tbody tr').length === wanted, count);
		is(`${state} jobs are listed`, (await page.run(list, 'jobs')).length, count);
	}
	await page.run((to) => { location.hash = to; }, `#${new URLSearchParams({ queue: shownName.plain, state: 'dead', error: markup })}`);
	await page.until(() => document.querySelectorAll('#jobs tbody tr').length === 9);
	ok('and those of an error', true);
	is('their worker and error are texts', await page.run(() => document.querySelector('#jobs tbody [data-label=Error]').textContent.slice(0, 46)), markup.slice(0, 46));
	await page.run(() => document.getElementById('count').click());
	await page.until(() => /^7 ready, 0 scheduled, 1 leased, 12 dead$/.test(document.getElementById('counted').textContent));
	ok('jobs are counted when asked', true);

	const jobOf = async (queue, id, which) => {
		await page.run((to) => { location.hash = to; }, `#${new URLSearchParams({ queue, job: id })}`);
		await page.until((wanted, first) => document.getElementById('job-title').textContent === wanted
			&& document.querySelector('#job p')?.textContent.startsWith(first), `Job ${id}`, which);
		return page.run(() => Object.fromEntries([...document.querySelectorAll('#job dl > div')].map((line) =>
			[line.children[0].textContent, line.querySelector('pre').textContent])));
	};
	const [wanted] = await rows(`select to_jsonb(j) as job, jsonb_pretty(payload) as payload from odd.${quoted(markup)} j where id = 1`);
	const given = await jobOf(shownName.markup, 1, 'In the queue, leased');
	is('a job is shown with all its columns', Object.keys(given).sort(), Object.keys(wanted.job).sort());
	is('markup in it is text', [given.payload, given.leased_by, given.last_error, given.kind, given[markup]], [wanted.payload, markup, markup, markup, markup]);
	await jobOf(shownName.markup, 2, 'In the queue');
	const cut = await page.run(() => {
		const line = [...document.querySelectorAll('#job dl > div')].find((node) => node.firstChild.textContent === 'payload');
		return { shown: line.querySelector('pre').textContent.length, href: line.querySelector('a').href, isHidden: line.querySelector('a').hidden };
	});
	is('a megabyte is cut', [cut.shown, cut.isHidden], [20_000, false]);
	const file = new URL(cut.href);
	const whole = await request(file.port, file.pathname + file.search);
	is('and can be had as a file', [whole.text.length > 1_000_000, whole.headers['content-type'], whole.headers['content-disposition'].split(';')[0]],
		[true, 'text/plain; charset=utf-8', 'attachment']);
	await jobOf(shownName.plain, 13, 'In the archive');
	is('an archived job is shown', await page.run(() => [...document.querySelectorAll('#job dt')].some((node) => node.textContent === 'finished_at')), true);
	await jobOf(shownName.plain, 999, 'There is no such job');
	ok('a job that is not there is told', true);
	await page.run((to) => { location.hash = to; }, '#queue=odd.mine');
	await page.until(() => /attached/.test(document.querySelector('#jobs .note').textContent));
	is('of an attached queue what is counted', await page.run(() => /attached, update mode/.test(document.getElementById('facts').textContent)), true);

	is('nothing can be done', await page.run(() => [...document.querySelectorAll('button')].filter((node) => node.checkVisibility()).map((node) => node.id)), ['count']);
	is('no markup became a node', await page.run(() => document.querySelectorAll('img, b, iframe, script:not([src]), style, [style], [onerror]').length), 0);
	ok('the policy refuses markup', await page.run(() => {
		try { document.createElement('p').innerHTML = '<b>'; } catch { return true; }
		return false;
	}));
	is('the browser has nothing to complain about', page.complaints.filter((text) => !/TrustedHTML/.test(text)), []);
	await stop();
}

async function testRoles() {
	const { url, end: stop } = await serve([], { PGUSER: 'watcher' });
	const page = await browser.page(`${url}#queue=odd.ledger`);
	await page.until(() => /may not read/.test(document.querySelector('#jobs .note')?.textContent));
	is('a role that may not read jobs is told so', await page.run(() => document.querySelector('#jobs .note').textContent),
		'The dashboard\'s role may not read id, priority of odd.ledger.');
	ok('and sees what was counted', await page.run(() => /12 dead/.test(document.getElementById('facts').textContent)));
	await page.run(() => document.getElementById('count').click());
	await page.until(() => /12 dead/.test(document.getElementById('counted').textContent));
	ok('and may count, with the three columns', true);
	await rows('revoke select on queue_stats, queue_wait_histogram, queue_run_histogram, queue_claim_stats from public');
	await cellIs(page, 'odd.ledger', 'Ready', (text) => text === 'unknown');
	is('without a right to the statistics they are unknown', await Promise.all(['Oldest ready', 'Leased', 'Sent/s', 'Path'].map((label) =>
		page.run(cellOf, 'odd.ledger', label))), ['unknown', 'unknown', 'unknown', 'unknown']);
	await rows('grant select on queue_stats, queue_wait_histogram, queue_run_histogram, queue_claim_stats to public');
	is('without complaints', page.complaints, []);
	await stop();

	const acting = await serve(['--write'], { PGUSER: 'watcher' });
	const other = await browser.page(`${acting.url}#queue=odd.ledger`);
	await other.until(() => document.querySelector('[aria-label="Pause odd.ledger"]'));
	await other.run(() => { document.querySelector('[aria-label="Pause odd.ledger"]').click(); document.getElementById('confirm-yes').click(); });
	await other.until(() => /^It was not done: must be owner|^It was not done: permission denied/.test(document.getElementById('status').textContent));
	is('what the role may not do is not done', await one("select paused from queues where queue = 'odd.ledger'"), false);
	await acting.end();
}

async function testActs(acting) {
	const page = await browser.page(`${acting.url}#${new URLSearchParams({ queue: shownName.plain, state: 'dead' })}`);
	await page.look('light', 1280, 900);
	const status = (pattern) => page.until((text) => new RegExp(text).test(document.getElementById('status').textContent), pattern.source);
	const focus = (label) => page.until((text) => {
		const node = document.querySelector(`[aria-label=${JSON.stringify(text)}]`);
		node?.focus();
		return document.activeElement === node && node !== null;
	}, label);

	await focus('Pause odd.ledger');
	await page.key('Enter');
	await page.until(() => document.getElementById('confirm').open);
	is('an act is confirmed, and leaving it is the first choice', await page.run(() => document.activeElement.id), 'confirm-no');
	await page.key('Escape');
	await page.until(() => !document.getElementById('confirm').open);
	is('Escape leaves it', await one("select paused from queues where queue = 'odd.ledger'"), false);
	is('and the focus is where it was', await page.run(focused), 'Pause odd.ledger');
	await page.key('Enter');
	await page.until(() => document.getElementById('confirm').open);
	await page.key('Tab');
	await page.key('Enter');
	await status(/odd\.ledger is paused/);
	is('a queue is paused by the keyboard', await one("select paused from queues where queue = 'odd.ledger'"), true);
	await page.until(() => document.querySelector('[aria-label="Resume odd.ledger"]'));
	is('and the focus is on what undoes it', await page.run(focused), 'Resume odd.ledger');
	await page.key('Enter');
	await status(/odd\.ledger is resumed/);
	is('a queue is resumed', await one("select paused from queues where queue = 'odd.ledger'"), false);

	await rows("select queue_pause('odd.ledger')"); // a requeued job stays
	const [, id] = (await page.run(focused), /job (\d+)/.exec(await page.until(() =>
		document.querySelector('#jobs [data-label=Act] button:not([hidden])')?.getAttribute('aria-label'))));
	await focus(`Requeue job ${id}`);
	await page.key('Enter');
	await status(new RegExp(`Job ${id} is ready again`));
	is('a job is requeued', await one('select dead_at is null and max_attempts > attempt from odd.ledger where id = $1', id), true);
	await page.until((text) => !document.querySelector(`[aria-label="Requeue job ${text}"]`), id);
	is('the focus is on the title of the list in which it was', await page.run(() => document.activeElement.id), 'jobs-title');
	await focus(`Requeue all of ${markup}`);
	const left = Number(await one("select count(*) from odd.ledger where dead_at <= now() and last_error like '<img%'"));
	await page.key('Enter');
	await page.until(() => document.getElementById('confirm').open);
	await page.key('Tab');
	await page.key('Enter');
	await status(new RegExp(`^${left} jobs are ready again`));
	is('all of an error are requeued, and no others', await rows(`select count(*) filter (where last_error is null)::integer as others,
		count(last_error)::integer as same from odd.ledger where dead_at <= now()`), [{ others: left === 9 ? 2 : 3, same: 0 }]);
	await page.run(() => { document.querySelector('#jobs [aria-label^="Cancel job"]').click(); document.getElementById('confirm-yes').click(); });
	await status(/^Job \d+ is cancelled/);
	is('a job is cancelled', await one("select count(*)::integer from odd.ledger_archive where state = 'cancelled'"), 1);

	// As the page has it, but changed meanwhile.
	await page.run((to) => { location.hash = to; }, `#queue=odd.ledger&job=${id}`);
	await page.until((text) => [...document.querySelectorAll('#job button')].some((node) => node.textContent === text), `Cancel job ${id}`);
	await page.run(() => document.querySelector('#job button').click());
	await rows('update odd.ledger set attempt = attempt + 1 where id = $1', id);
	await page.run(() => document.getElementById('confirm-yes').click());
	await status(/has changed meanwhile/);
	is('a job that has changed is left alone', await one('select count(*)::integer from odd.ledger where id = $1', id), 1);
	await rows("select queue_resume('odd.ledger')");

	// They are requeued 1,000 at a time; the second time is one too many for a trigger.
	await pool.query(`select queue_create('odd.partly');
		select queue_send_many('odd.partly', array_fill('1'::jsonb, array[1200]), max_attempts => 1);
		select queue_fail_many('odd.partly', array_agg(id), array_agg(attempt), array_agg('broken'::text)) from queue_pop('odd.partly', 1200);
		create function odd.enough() returns trigger language plpgsql as $$
			begin if (select count(*) from odd.partly where dead_at is null) >= 1000 then raise 'enough'; end if; return new; end $$;
		create trigger enough before update on odd.partly for each row execute function odd.enough()`);
	await page.run((to) => { location.hash = to; }, '#queue=odd.partly');
	await focus('Requeue all of broken');
	await page.run(() => { document.activeElement.click(); document.getElementById('confirm-yes').click(); });
	await status(/jobs are ready again/);
	is('what was done before an error is told, and the error', await page.run(() => document.getElementById('status').textContent),
		'1,000 jobs are ready again. Then it ended: enough');
	is('and done', await one("select count(*)::integer from odd.partly where dead_at is null"), 1000);
	await page.run((to) => { location.hash = to; }, '#queue=odd.none');
	await status(/There is no such queue/);
	return page;
}

async function testUse(page) {
	await page.run((to) => { location.hash = to; }, '#queue=shop.emails&state=archive');
	// The rows may be those of the queue before; the focus comes with the new ones.
	await page.until(() => document.activeElement.id === 'jobs-title' && document.querySelectorAll('#jobs tbody tr').length > 20);
	await page.run(() => document.querySelectorAll('#queues tbody a')[3].focus());
	await page.run(() => {
		window.kept = document.activeElement;
		window.spoken = 0;
		window.changes = 0;
		document.getElementById('status').textContent = '';
		new MutationObserver(() => { window.spoken++; }).observe(document.getElementById('status'), { childList: true, subtree: true, characterData: true });
		new MutationObserver(() => { window.changes++; }).observe(document.getElementById('queues'), { childList: true, subtree: true, characterData: true });
	});
	await refreshed(page, 3);
	is('the focus is kept over refreshes', await page.run(() => document.activeElement === window.kept), true);
	ok('numbers change', await page.run(() => window.changes > 0));
	is('and nothing is spoken', await page.run(() => window.spoken), 0);
	is('nor are numbers live', await page.run(() => [...document.querySelectorAll('[aria-live], [role=status], [role=alert], [role=log]')].map(({ id }) => id)), ['status', 'counted']);

	for (const [scheme, width] of [['light', 1280], ['dark', 1190], ['light', 768], ['dark', 320]]) {
		await page.look(scheme, width, 800);
		for (const to of ['#queue=shop.emails&state=archive', `#${new URLSearchParams({ queue: shownName.markup, state: 'leased', job: 1 })}`,
			`#${new URLSearchParams({ queue: shownName.long })}`]) {
			await page.run((hash) => { location.hash = hash; }, to);
			await page.until((name) => document.getElementById('detail-title').textContent === name, new URLSearchParams(to.slice(1)).get('queue'));
			await refreshed(page, 1);
			is(`${scheme}, ${width} pixels, ${to.slice(0, 30)}: nothing is beyond the edge`,
				await page.run(beyond), []);
			is(`${scheme}, ${width} pixels, ${to.slice(0, 30)}: texts stand out`, await page.run(faint), []);
		}
		const { nodes } = await page.call('Accessibility.getFullAXTree');
		const seen = nodes.filter(({ ignored }) => !ignored).map(({ role, name }) => [role?.value, name?.value ?? '']);
		is(`${scheme}, ${width} pixels: all that can be used has a name`,
			seen.filter(([role, name]) => ['button', 'link', 'textbox', 'searchbox', 'figure', 'image', 'table', 'dialog', 'navigation'].includes(role) && !name.trim() && role !== 'figure'), []);
		is(`${scheme}, ${width} pixels: landmarks`, ['banner', 'main', 'navigation'].filter((role) => !seen.some(([one]) => one === role)), []);
		ok(`${scheme}, ${width} pixels: tables are tables`, ['table', 'columnheader', 'rowheader', 'cell'].every((role) => seen.some(([one]) => one === role)));
	}
	is('headings leave no level out', await page.run(() => [...document.querySelectorAll('h1, h2, h3, h4')].map((node) => Number(node.tagName[1]))
		.filter((level, place, all) => level > (all[place - 1] ?? 0) + 1)), []);
	await page.look('light', 1280, 800);
	await page.run(() => { location.hash = '#queue=shop.emails'; document.activeElement.blur(); });
	await page.until(() => document.title.startsWith('shop.emails'));
	await page.run(() => { document.getElementById('skip').focus(); });
	await page.key('Enter');
	is('the first link leads past the list', await page.run(() => document.activeElement.id), 'detail-title');
}

async function testAway() {
	const acting = await serve(['--write'], { NODE_OPTIONS: '' });
	const page = await browser.page(`${acting.url}#queue=shop.emails`);
	await page.look('light', 1280, 900);
	await page.until(cellOf, 'shop.emails', 'Ready');
	await page.run(() => {
		new MutationObserver(() => { window.spoken++; }).observe(document.getElementById('status'), { childList: true, subtree: true, characterData: true });
	});
	const status = (pattern) => page.until((text) => new RegExp(text).test(document.getElementById('status').textContent), pattern.source);
	const before = await page.run(() => document.querySelectorAll('#queues tbody tr').length);
	server('stop');
	await status(/^The database does not answer\. Shown is what was known at .* Trying again\.$/);
	is('while the server is away the page shows what it knew', await page.run(() => [document.querySelectorAll('#queues tbody tr').length, document.body.classList.contains('stale')]),
		[before, true]);
	await page.run(() => { window.spoken = 0; });
	await refreshed(page, 2);
	is('and says so once', await page.run(() => window.spoken), 0);
	server('start');
	await status(/^It answers again/);
	await cellIs(page, 'shop.emails', 'Completed/s', (text) => Number(text) > 0);
	ok('after that rates are right again', true);
	await page.look('dark', 1190, 800);
	is('also what is unknown has room', await page.run(beyond), []);
	// A connection that ends between two statements, which no query is told.
	await rows(`do $$
		declare until timestamptz = clock_timestamp() + interval '10 minutes';
		begin
			loop
				perform pg_stat_clear_snapshot();
				perform pg_terminate_backend(pid) from pg_stat_activity where application_name = 'queue_ext dashboard' and state = 'idle in transaction';
				exit when found;
				assert clock_timestamp() < until, 'no connection of the dashboard was in a transaction';
			end loop;
		end $$`);
	await refreshed(page, 3);
	await page.until(() => !document.body.classList.contains('stale'));
	ok('a connection that ends between two statements ends nothing else', true);
	// Connections that hang are given up, and others made.
	const hung = new Set();
	// One that is gone by then was idle for too long, and there may be another one.
	const signal = (pid, name) => { try { process.kill(pid, name); } catch {} };
	for (let tries = 0; tries < 1200; tries++, await sleep(100)) {
		for (const { pid } of await rows("select pid from pg_stat_activity where application_name = 'queue_ext dashboard'")) {
			signal(pid, 'SIGSTOP');
			hung.add(pid);
		}
		if (await page.run(() => /does not answer/.test(document.getElementById('status').textContent))) break;
	}
	await status(/^It answers again/);
	for (const pid of hung) signal(pid, 'SIGCONT');
	ok('a server that hangs is waited for no longer than 15 s, and asked again', hung.size > 0);
	is('the page is as before', await page.run(() => [document.querySelectorAll('#queues tbody tr').length, document.body.classList.contains('stale')]), [before, false]);

	await acting.end();
	await status(/server does not answer/);
	const again = start('server.mjs', ['--port', acting.port, '--write'], patient);
	await status(/^It answers again/);
	await page.run(() => { document.querySelector('[aria-label="Pause odd.ledger"]').click(); document.getElementById('confirm-yes').click(); });
	await status(/odd\.ledger is paused/);
	ok('a dashboard that was restarted gives the page its new token', true);
	await end(again);
}

async function testPicture() {
	const { url, end: stop } = await serve(['--write']);
	for (const [scheme, file] of [['dark', `${area}/dark.png`], ['light', `${area}/dashboard.png`]]) {
		const page = await browser.page(`${url}#queue=shop.emails&state=dead`);
		await page.look(scheme, 1200, 800);
		await page.until(() => document.querySelectorAll('#jobs tbody tr').length > 0);
		await page.run(() => { document.getElementById('filter').value = 'shop.'; });
		// So that there are some points to draw.
		await page.until(() => (document.querySelector('#rates path')?.getAttribute('d').match(/L/g) ?? []).length > 8);
		await page.run(() => { document.activeElement.blur(); scrollTo(0, 0); });
		const picture = await page.picture();
		writeFileSync(file, picture);
		ok(`a picture of it, ${scheme}`, picture.readUInt32BE(16) === 1200 && picture.length > 20_000);
	}
	await stop();
}

// What make dashboard does, once all is installed, with a few files to copy.
async function testDemo() {
	const work = `${process.env.SCRATCH}/demo`;
	mkdirSync(`${area}/files`);
	for (const name of ['a', 'b', 'c']) writeFileSync(`${area}/files/${name}`, name);
	const demo = run(new URL('../../script/run-demo', import.meta.url).pathname, ['--dashboard', '0'], { DEMO_DIR: `${area}/files` });
	let output = '';
	const ended = new Promise((resolve) => { demo.on('close', resolve); });
	const still = await Promise.race([ended.then(() => null), new Promise((resolve) => {
		createInterface(demo.stdout).on('line', (line) => {
			output += `${line}\n`;
			const [, port] = /^still at http:\/\/localhost:(\d+)\//.exec(line) ?? [];
			if (port) resolve(port);
		});
	})]);
	ok('make dashboard runs the demo', /^success: /m.test(output));
	// Nobody has waited for those of load.mjs, and the dashboard of the demo is not patient.
	let found;
	for (let tries = 0; tries < 1200 && found !== 2; tries++, await sleep(100)) {
		const { queues = [] } = JSON.parse((await request(still, '/api/queues')).text);
		found = ['public.replication', 'shop.emails'].filter((name) => queues.some(({ queue }) => queue === name)).length;
	}
	is('with the queue of the demo, and others', found, 2);
	demo.kill('SIGTERM');
	await ended;
	is('and leaves nothing behind', [existsSync(work), await request(still, '/').catch(({ code }) => code)], [false, 'ECONNREFUSED']);
}

const quit = () => { for (const child of children) child.kill('SIGTERM'); };
process.on('SIGTERM', () => { quit(); process.exit(143); });
try {
	await prepare();
	start('load.mjs', []);
	browser = await open('chromium', `${area}/profile`);
	await testRequests();
	await testReadOnly();
	await testElsewhere();
	await testShown();
	await testRoles();
	const acting = await serve(['--write']);
	const page = await testActs(acting);
	await testUse(page);
	await testPicture();
	await acting.end();
	await testAway();
	await testDemo();
} catch (error) {
	is('no error', error.stack, null);
} finally {
	quit();
	await browser?.close();
	await pool.end().catch(() => {});
}
console.log(`1..${tests}`);
process.exit(failed ? 1 : 0);
