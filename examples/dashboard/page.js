// page.js - shows what server.mjs answers, and keeps it up to date.
//
// What is shown comes from jobs, so from anyone: it becomes text nodes, never markup. What is not
// known (null) is called unknown, never 0. Nodes are kept over refreshes, and with them the focus;
// only #status and #counted speak to screen readers, and only when something has happened.
//
// The place is in the fragment of the address: #queue=NAME&state=STATE&error=TEXT&job=ID.

const pause = 2_000; // between two refreshes
const kept = 150; // refreshes that the rates look back on
const recent = 10; // seconds over which a rate is taken

const at = (id) => document.getElementById(id);
const unknown = Symbol('unknown');

// ---- nodes

function make(name, attributes = {}, ...children) {
	const isDrawn = ['svg', 'path', 'rect', 'text', 'line', 'title'].includes(name);
	const node = isDrawn ? document.createElementNS('http://www.w3.org/2000/svg', name) : document.createElement(name);
	for (const [key, value] of Object.entries(attributes)) {
		if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
		else if (value !== undefined && value !== false) node.setAttribute(key, value);
	}
	node.append(...children);
	return node;
}

// A name or another text from outside keeps its direction to itself.
const foreign = (text, attributes = {}) => make('bdi', attributes, text);

// Writes only what has changed, so that selections and the reading position stay.
function say(node, text) {
	node.classList.toggle('unknown', text === unknown);
	const wanted = text === unknown ? 'unknown' : String(text);
	if (node.textContent !== wanted) node.textContent = wanted;
}

function set(node, key, value) {
	if (node.getAttribute(key) !== value) node.setAttribute(key, value);
}

// Makes the children of a node those of the items, by their keys: kept where they were there before.
// If the focus was on one that is gone, the title of its section has it.
function sync(parent, items, key, build, fill) {
	const focused = document.activeElement;
	const hadFocus = parent.contains(focused);
	const before = new Map([...parent.children].map((node) => [node.key, node]));
	const wanted = items.map((item) => [key(item), item]);
	for (const name of wanted.map(([name]) => name)) before.delete(name);
	const known = new Map([...parent.children].map((node) => [node.key, node]));
	for (const gone of before.values()) gone.remove();
	let next = parent.firstElementChild;
	for (const [name, item] of wanted) {
		const node = known.get(name) ?? build(item);
		node.key = name;
		node.item = item;
		fill(node, item);
		if (node === next) next = node.nextElementSibling;
		else parent.insertBefore(node, next);
	}
	if (!hadFocus || document.activeElement === focused) return;
	if (parent.contains(focused)) focused.focus({ preventScroll: true });
	else parent.closest('section')?.querySelector('[tabindex="-1"]')?.focus({ preventScroll: true });
}

// A table of columns { label, text(item), or node(row) that is made once and fill(node, item) }.
// The roles are said, as narrow screens show rows as blocks.
function table(caption, key, columns) {
	const body = make('tbody', { role: 'rowgroup' });
	const node = make('table', { role: 'table' }, make('caption', {}, caption),
		make('thead', { role: 'rowgroup' }, make('tr', { role: 'row' }, ...columns.map(({ label, kind }) =>
			make('th', { scope: 'col', role: 'columnheader', class: kind }, label)))), body);
	const build = () => {
		const row = make('tr', { role: 'row' });
		for (const column of columns) {
			const cell = make(column.isHead ? 'th' : 'td', { class: column.kind, 'data-label': column.label,
				role: column.isHead ? 'rowheader' : 'cell', scope: column.isHead && 'row' });
			cell.append(column.node ? column.node(row) : make('bdi'));
			row.append(cell);
		}
		return row;
	};
	const fill = (row, item) => columns.forEach((column, number) => {
		const inner = row.children[number].firstElementChild;
		if (column.text) say(inner, column.text(item));
		column.fill?.(inner, item);
	});
	return { node, update: (items) => sync(body, items, key, build, fill) };
}

// ---- words

const number = (value) => Number(value).toLocaleString('en');

function duration(seconds) {
	if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
	if (seconds < 60) return `${Number(seconds.toPrecision(2))} s`;
	const units = [[86400, 'd'], [3600, 'h'], [60, 'min'], [1, 's']];
	const first = units.findIndex(([size]) => seconds >= size);
	return units.slice(first, first + 2).map(([size, name], place) =>
		[Math.floor((place ? seconds % units[first][0] : seconds) / size), name]).filter(([count]) => count > 0).flat().join(' ');
}

const brief = (value) => (value === 0 ? '0' : value.toFixed(value < 10 ? 1 : 0));
const countOf = (value) => (value == null ? unknown : number(value));
const readyOf = (queue) => (queue.ready == null ? unknown : (queue.ready_exact ? '' : '≈ ') + number(queue.ready));

function oldestOf(queue) {
	if (queue.oldest == null) return queue.oldest_exact ? 'none' : unknown;
	return (queue.oldest_exact ? '' : '≥ ') + duration(Math.max(0, queue.oldest));
}

// ---- what the server says

let token = null;
let place = new URLSearchParams();
const pasts = new Map(); // of each queue, what was counted at the last refreshes

async function ask(path, parameters = {}, body) {
	const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value != null));
	let response;
	try {
		response = await fetch(`api/${path}?${query}`, {
			signal: AbortSignal.timeout(15_000),
			...(body && { method: 'POST', body: JSON.stringify(body), headers: { 'X-CSRF-Token': token } }),
		});
	} catch {
		throw new Error('The dashboard\'s server does not answer.');
	}
	const answer = await response.json().catch(() => ({ error: `The proxy says ${response.status}.` }));
	if (!response.ok) throw Object.assign(new Error(answer.error), { isAway: response.status >= 500 });
	return answer;
}

function remember(queues) {
	for (const queue of queues) {
		const past = pasts.get(queue.queue) ?? [];
		const last = past.at(-1);
		// After a restart or a reset of the counters nothing can be said of the time in between.
		if (last && (last.since !== queue.since || Number(queue.sent) < Number(last.sent))) past.length = 0;
		if (queue.since != null) past.push(queue);
		if (past.length > kept) past.shift();
		pasts.set(queue.queue, past);
	}
	const names = new Set(queues.map(({ queue }) => queue));
	for (const name of pasts.keys()) if (!names.has(name)) pasts.delete(name);
}

// Jobs per second at the end of a queue's past.
function rate(past, counter) {
	const last = past.at(-1);
	const from = past.find(({ now }) => last.now - now <= recent);
	if (!last || last === from || last[counter] == null) return unknown;
	return (last[counter] - from[counter]) / (last.now - from.now);
}

function rateOf(queue, counter) {
	const value = rate(pasts.get(queue.queue) ?? [], counter);
	return value === unknown ? unknown : brief(value);
}

// ---- acts

let announced = 0;
function announce(...parts) {
	const text = parts.map((part) => part.textContent ?? part).join('');
	if (at('status').textContent !== text) at('status').replaceChildren(...parts);
	announced = Date.now();
}

function confirmed(question, verb) {
	const dialog = at('confirm');
	at('confirm-text').replaceChildren(...question);
	at('confirm-yes').textContent = verb;
	dialog.showModal();
	return new Promise((resolve) => {
		// Not by the event of closing, which may come when the next question is open.
		const close = (answer) => { dialog.close(); resolve(answer); };
		at('confirm-yes').onclick = () => close(true);
		at('confirm-no').onclick = () => close(false);
		dialog.oncancel = () => close(false);
	});
}

// The report makes of what was done the parts of a sentence, which is said when the page shows it.
async function act(action, values, report) {
	let parts;
	try {
		const { done, failure } = await ask(action, {}, values);
		parts = [...report(done), failure ? ` Then it ended: ${failure}` : ''];
	} catch (error) {
		parts = [`It was not done: ${error.message}`];
	}
	await refresh();
	announce(...parts);
}

// A button that acts on the item that its row has then.
function acting(row, label, handle) {
	return make('button', { type: 'button', onclick: () => handle(row.item) }, label);
}

async function pauseOrResume({ queue, paused }) {
	if (paused) return act('resume', { queue }, () => [foreign(queue), ' is resumed.']);
	if (!await confirmed(['Pause ', foreign(queue), '? Its jobs are not handed out any more.'], 'Pause')) return;
	await act('pause', { queue }, () => [foreign(queue), ' is paused.']);
}

const changed = (id) => [`Job ${id} has changed meanwhile; nothing was done.`];
const requeue = ({ id, attempt }) => act('requeue', { queue: place.get('queue'), id, attempt },
	(done) => (done ? [`Job ${id} is ready again.`] : changed(id)));

async function cancel({ id, attempt }) {
	const queue = place.get('queue');
	if (!await confirmed([`Cancel job ${id} of `, foreign(queue), '? It cannot be brought back.'], 'Cancel the job')) return;
	await act('cancel', { queue, id, attempt }, (done) => (done ? [`Job ${id} is cancelled.`] : changed(id)));
}

async function requeueAll({ error, count }) {
	const queue = place.get('queue');
	if (!await confirmed([`Make the ${number(count)} dead jobs of this error, and those that no one has counted, ready again? `,
		error ? foreign(error) : unnamed], 'Requeue them')) return;
	await act('requeue_error', { queue, error }, (done) => [`${number(done)} jobs are ready again.`]);
}

// ---- the parts of the page

const link = (changes) => {
	const to = new URLSearchParams(place);
	for (const [key, value] of Object.entries(changes)) {
		if (value == null) to.delete(key);
		else to.set(key, value);
	}
	return `#${to}`;
};

const rateColumn = (label, counter) => ({ label, kind: 'number', text: (queue) => rateOf(queue, counter) });
const queueTable = table('Queues of the database', ({ queue }) => queue, [
	{ label: 'Queue', isHead: true, kind: 'name', node: () => make('span', {}, make('a', {}, make('bdi')), make('small')),
		fill: (node, queue) => {
			const [anchor, mark] = node.children;
			set(anchor, 'href', `#${new URLSearchParams({ queue: queue.queue })}`);
			if (place.get('queue') === queue.queue) set(anchor, 'aria-current', 'true');
			else anchor.removeAttribute('aria-current');
			say(anchor.firstElementChild, queue.queue);
			say(mark, [queue.paused && ' paused', !queue.managed && ' attached'].filter(Boolean).join(','));
		} },
	{ label: 'Oldest ready', kind: 'number', text: oldestOf },
	{ label: 'Ready', kind: 'number', text: readyOf },
	{ label: 'Scheduled', kind: 'number', text: ({ scheduled }) => countOf(scheduled) },
	{ label: 'Leased', kind: 'number', text: ({ leased }) => countOf(leased) },
	{ label: 'Workers waiting', kind: 'number', text: ({ waiting }) => countOf(waiting) },
	rateColumn('Sent/s', 'sent'), rateColumn('Claimed/s', 'claimed'), rateColumn('Completed/s', 'completed'),
	rateColumn('Failed/s', 'failed'),
	{ label: 'Path', text: ({ path }) => path ?? unknown },
	{ label: 'Act', kind: 'act', node: (row) => acting(row, 'Pause', pauseOrResume),
		fill: (button, { queue, paused }) => {
			say(button, paused ? 'Resume' : 'Pause');
			set(button, 'aria-label', `${button.textContent} ${queue}`);
		} },
]);

const unnamed = '(no error: none was given, or the last lease ended)';
const deadTable = table('Dead jobs, by the first line of their last error', ({ error }) => error, [
	{ label: 'Error', isHead: true, kind: 'wide', node: () => make('a', {}, make('bdi')),
		fill: (anchor, { error }) => {
			set(anchor, 'href', link({ state: 'dead', error, job: null }));
			say(anchor.firstElementChild, error || unnamed);
		} },
	{ label: 'Jobs', kind: 'number', text: ({ count }) => number(count) },
	{ label: 'Last', text: ({ last }) => last },
	{ label: 'Act', kind: 'act', node: (row) => acting(row, 'Requeue all', requeueAll),
		fill: (button, { error }) => set(button, 'aria-label', `Requeue all of ${error || 'no error'}`) },
]);

const textColumn = (label, name, kind) => ({ label, kind, text: (job) => (name in job ? job[name] ?? '' : unknown) });
const jobTable = table('Jobs in this state', ({ id }) => id, [
	{ label: 'Job', isHead: true, node: () => make('a', {}), fill: (anchor, { id }) => {
		set(anchor, 'href', link({ job: id }));
		say(anchor, id);
	} },
	{ label: 'Attempt', kind: 'number', text: ({ attempt, max_attempts: limit }) => (attempt == null ? unknown : `${attempt} of ${limit ?? '?'}`) },
	textColumn('Priority', 'priority', 'number'),
	{ label: 'When', text: (job) => job[{ leased: 'leased_until', dead: 'dead_at', archive: 'finished_at' }[place.get('state')] ?? 'run_at'] ?? '' },
	{ label: 'Outcome', kind: 'outcome', text: ({ state }) => state ?? '' },
	textColumn('Worker', 'leased_by', 'wide'), textColumn('Payload', 'payload', 'wide'), textColumn('Error', 'last_error', 'wide'),
	{ label: 'Act', kind: 'act', node: (row) => make('span', {}, acting(row, 'Requeue', requeue), acting(row, 'Cancel', cancel)),
		fill: (node, { id }) => {
			node.children[0].hidden = place.get('state') !== 'dead';
			for (const button of node.children) set(button, 'aria-label', `${button.textContent} job ${id}`);
		} },
]);

const titles = { job: 'job-title', state: 'jobs-title', queue: 'detail-title' };
const states = { ready: 'Ready', scheduled: 'Scheduled', leased: 'Leased', dead: 'Dead', archive: 'Archive' };
const notes = Object.fromEntries(['dead', 'jobs'].map((id) => [id, make('p', { class: 'note' })]));
const jobNodes = make('div');
at('queues').append(queueTable.node);
at('dead').append(notes.dead, deadTable.node);
at('jobs').append(notes.jobs, jobTable.node);
at('job').append(jobNodes);

function showQueues(queues) {
	const wanted = at('filter').value.toLowerCase();
	queueTable.update(queues.filter(({ queue }) => queue.toLowerCase().includes(wanted)));
	say(at('mode'), token ? `${queues.length} queues` : `${queues.length} queues, to look at only`);
	document.body.classList.toggle('acts', token !== null);
}

function showList(id, list, items, empty, note) {
	const isError = Boolean(list.error);
	say(notes[id], isError ? list.error : list.length ? note : empty);
	items.update(isError ? [] : list);
	items.node.hidden = isError || !list.length;
}

// ---- drawings

const width = 360, height = 130, floor = 108;

// Replaces the drawing, and the numbers below it, which stay open or closed.
function draw(figure, summary, parts, head, rows) {
	const drawing = make('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': summary }, ...parts);
	const line = figure.querySelector('p') ?? figure.appendChild(make('p'));
	say(line, summary);
	const old = figure.querySelector('svg');
	if (old) old.replaceWith(drawing);
	else line.before(drawing);
	if (!rows) return;
	const details = figure.querySelector('details') ?? figure.appendChild(make('details', {}, make('summary', {}, 'Numbers'), make('table', {},
		make('thead', {}, make('tr', {}, ...head.map((text) => make('th', { scope: 'col' }, text)))), make('tbody'))));
	sync(details.querySelector('tbody'), rows, ([name]) => name,
		() => make('tr', {}, make('th', { scope: 'row' }), make('td')),
		(node, texts) => texts.forEach((text, column) => say(node.children[column], text)));
}

const short = (seconds) => (seconds === Infinity ? 'more' : seconds < 1 ? `${seconds * 1000} ms` : `${seconds} s`);

function drawHistogram(figure, buckets) {
	if (buckets.error || !buckets.length) return draw(figure, buckets.error ?? 'unknown', []);
	const ends = buckets.map(({ le }) => Number(le));
	const sums = buckets.map(({ jobs }) => Number(jobs));
	const jobs = sums.map((sum, place) => sum - (sums[place - 1] ?? 0));
	const all = sums.at(-1), top = Math.max(...jobs, 1), step = width / jobs.length;
	const within = (share) => short(ends[sums.findIndex((sum) => sum >= share * all)]);
	const names = ends.map((end, place) => (end === Infinity ? `over ${short(ends[place - 1])}` : `up to ${short(end)}`));
	const mean = duration(buckets[0].total_seconds / all);
	const summary = all === 0 ? 'No job yet' : `${number(all)} jobs, ${mean} on average; half within ${within(0.5)}, 95 % within ${within(0.95)}`;
	draw(figure, summary, [
		make('line', { x1: 0, x2: width, y1: floor, y2: floor }),
		...jobs.map((count, place) => make('rect', { x: place * step + 1, width: step - 2, rx: 2,
			y: floor - (floor - 6) * count / top, height: (floor - 6) * count / top }, make('title', {}, `${names[place]}: ${number(count)}`))),
		...[1, 5, 9, 13].map((place) => make('text', { x: (place + 1) * step, y: height - 6 }, short(ends[place]))),
	], ['Time', 'Jobs'], jobs.map((count, place) => [names[place], number(count)]));
}

function drawRates(figure, past) {
	const lines = ['sent', 'completed'].map((counter) => past.map((_, end) => rate(past.slice(Math.max(0, end - 5), end + 1), counter)));
	const top = Math.max(1, ...lines.flat().filter((value) => value !== unknown));
	const from = past[0]?.now, span = Math.max(60, past.at(-1)?.now - from);
	const path = (values) => values.map((value, place) => (value === unknown ? '' :
		`${values[place - 1] === unknown ? 'M' : 'L'}${(past[place].now - from) / span * width} ${floor - (floor - 6) * value / top}`)).join('');
	const last = lines.map((values) => values.at(-1));
	const words = last.map((value) => (typeof value === 'number' ? brief(value) : 'unknown'));
	draw(figure, `${words[0]} sent, ${words[1]} completed per second`, [
		make('line', { x1: 0, x2: width, y1: floor, y2: floor }),
		make('path', { d: path(lines[0]), class: 'sent' }), make('path', { d: path(lines[1]), class: 'completed' }),
		make('text', { x: width - 4, y: height - 6, class: 'end' }, `${duration(span)}, up to ${number(Math.ceil(top))}/s`),
	]);
}

// ---- a queue and a job

function showQueue(queue, { definition, path, dead, wait, run, most }, listed, list) {
	const name = place.get('queue'), state = place.get('state') ?? 'ready';
	at('detail-title').replaceChildren(...(at('detail-title').textContent === name ? at('detail-title').childNodes : [foreign(name)]));
	say(at('facts'), [
		definition.managed ? `lease ${definition.lease}, ${definition.max_attempts} attempts` : `attached, ${definition.claim_mode} mode`,
		path.error ? `path unknown: ${path.error}` : `path ${path.path}${path.reason ? `: ${path.reason}` : ''}`, path.hint,
		queue?.since == null ? 'nothing counted' : `since ${new Date(queue.since).toLocaleString()}: ${['sent', 'completed', 'failed',
			'retried', 'dead', 'moved', 'unstarted', 'expired', 'cancelled', 'duplicates'].map((key) => `${queue[key] == null ? 'unknown' : number(queue[key])} ${key}`).join(', ')}`,
	].filter(Boolean).join(' · '));
	drawRates(at('rates'), pasts.get(name) ?? []);
	drawHistogram(at('wait'), wait);
	drawHistogram(at('run'), run);
	const total = Number(dead[0]?.total ?? 0);
	showList('dead', dead, deadTable, 'No job is dead.', total >= most ? `Of the last ${number(most)} that died.` : '');
	const counts = { ...queue, dead: dead.error ? null : total };
	sync(at('states'), Object.entries(states).filter(([key]) => key !== 'archive' || definition.archive), ([key]) => key,
		([key]) => make('li', {}, make('a', { href: link({ state: key, job: null, error: null }) })), (node, [key, label]) => {
			const anchor = node.firstElementChild;
			const count = key === 'ready' && queue ? readyOf(queue) : key === 'dead' && total >= most ? `${number(most)} or more` : countOf(counts[key]);
			say(anchor, key === 'archive' ? label : `${label}: ${count === unknown ? 'unknown' : count}`);
			set(anchor, 'href', link({ state: key, job: null, error: null }));
			set(anchor, 'aria-current', String(key === state));
		});
	const error = place.get('error');
	say(at('jobs-title'), `${states[state] ?? 'Unknown'} jobs${error === null ? '' : `: ${error || 'no error'}`}`);
	showList('jobs', list, jobTable, `None among the first ${number(most)}.`, list.length < 50 ? '' : 'The first 50.');
	sync(listed, Object.entries(definition).filter(([, value]) => value !== null), ([key]) => key,
		([key]) => make('div', {}, make('dt', {}, key), make('dd', {}, make('bdi'))),
		(node, [, value]) => say(node.querySelector('bdi'), value));
}

const listed = make('dl');
at('definition').append(listed);

function showJob({ source, archive }) {
	const queue = place.get('queue'), id = place.get('job');
	say(at('job-title'), `Job ${id}`);
	const found = [['source', source], ['archive', archive]].filter(([, row]) => row);
	sync(jobNodes, found.length ? found : [['none', {}]], ([which]) => which + queue + id, () => make('div', {},
		make('p'), make('p', { class: 'act' }), make('dl')), (node, [which, row]) => {
		const values = row.values ?? [];
		const attempt = values.find(({ name }) => name === 'attempt')?.text;
		say(node.children[0], row.error ?? (which === 'none' ? 'There is no such job: neither in the queue nor in its archive.' : [
			which === 'archive' ? 'In the archive' : `In the queue, ${row.state ?? 'in a state that is unknown'}`,
			row.hidden.length && `may not be read: ${row.hidden.join(', ')}`].filter(Boolean).join('; ')));
		const acts = which !== 'source' || row.error ? [] : row.state === 'dead' ? [['Requeue', requeue], ['Cancel', cancel]] : [['Cancel', cancel]];
		sync(node.children[1], acts, ([label]) => label, ([label, handle]) =>
			make('button', { type: 'button', onclick: (event) => handle(event.currentTarget.job) }, `${label} job ${id}`),
			(button) => { button.job = { id, attempt }; });
		sync(node.children[2], values, ({ name }) => name, ({ name }) => make('div', {}, make('dt', {}, foreign(name)),
			make('dd', {}, make('pre', { dir: 'auto' }), make('a', { download: '' }))), (line, { name, text, length }) => {
			const [shown, whole] = line.lastElementChild.children;
			say(shown, text ?? 'null');
			shown.classList.toggle('unknown', text === null);
			whole.hidden = text === null || [...text].length >= length;
			say(whole, `all ${number(length)} characters`);
			set(whole, 'href', `api/value?${new URLSearchParams({ queue, id, column: name, which })}`);
		});
	});
}

// ---- refreshing

let turn = 0; // the refresh that may write
let isAway = false;
let shownAt = null;
let goal = null; // the title that gets the focus once it is shown

async function refresh() {
	const mine = ++turn;
	const queue = place.get('queue'), state = place.get('state') ?? 'ready', job = place.get('job');
	try {
		const parts = await Promise.all([ask('queues'), ...(queue === null ? [] : [ask('queue', { queue }),
			ask('jobs', { queue, state, error: place.get('error') }), job && ask('job', { queue, id: job })]).map((answer) =>
			Promise.resolve(answer).catch((error) => { if (error.isAway ?? true) throw error; return { error: error.message }; }))]);
		if (mine !== turn) return;
		const [{ queues, token: given }, detail, list, row] = parts;
		token = given;
		remember(queues);
		showQueues(queues);
		at('detail').hidden = queue === null || Boolean(detail.error);
		at('job').hidden = !row;
		if (detail?.error) announce(detail.error);
		else if (detail) showQueue(queues.find((one) => one.queue === queue), detail, listed, list);
		if (row) showJob(row.error ? { source: row } : row);
		if (goal) at(goal).focus();
		goal = null;
		shownAt = new Date();
		if (isAway) announce(`It answers again, at ${shownAt.toLocaleTimeString()}.`);
		else if (Date.now() - announced > 20_000 && at('status').hasChildNodes()) announce();
		isAway = false;
	} catch (error) {
		if (mine !== turn) return;
		if (!isAway) announce(`${error.message} ${shownAt ? `Shown is what was known at ${shownAt.toLocaleTimeString()}. ` : ''}Trying again.`);
		isAway = true;
	}
	document.body.classList.toggle('stale', isAway);
}

async function go() {
	const before = place;
	place = new URLSearchParams(location.hash.slice(1));
	document.title = place.has('queue') ? `${place.get('queue')} - Queues` : 'Queues';
	if (before.get('queue') !== place.get('queue')) say(at('counted'), '');
	goal = titles[Object.keys(titles).find((key) => before.get(key) !== place.get(key) && place.has(key))] ?? null;
	await refresh();
}

at('skip').addEventListener('click', (event) => {
	event.preventDefault();
	at(at('detail').hidden ? 'filter' : 'detail-title').focus();
});
at('filter').addEventListener('input', refresh);
at('find').addEventListener('keydown', (event) => {
	if (event.key === 'Enter' && /^\d+$/.test(event.target.value)) location.hash = link({ job: event.target.value });
});
at('count').addEventListener('click', async () => {
	say(at('counted'), 'Counting …');
	const counts = await ask('counts', { queue: place.get('queue') }).catch((error) => ({ error: error.message }));
	say(at('counted'), counts.error ?? Object.entries(counts).map(([state, count]) => `${countOf(count)} ${state}`).join(', '));
});
window.addEventListener('hashchange', go);
document.addEventListener('visibilitychange', () => document.hidden || refresh());

await go();
for (;;) {
	await new Promise((resolve) => setTimeout(resolve, pause));
	if (!document.hidden) await refresh();
}
