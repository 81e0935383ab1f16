// queue-ext - jobs sent and done with pg, by the PostgreSQL extension queue_ext.
//
// - A claim is committed before the handler runs. The handler's client begins a transaction at its first
//   query. The job is completed in that transaction, which is committed then: what the handler has
//   written is committed exactly if the job is completed.
// - An error rolls back and fails the job, which is tried again after the queue's backoff. So does a
//   connection that is lost before the answer to the commit: if the server has committed, the receipt
//   is used up, and the failure changes nothing.
// - A heartbeat extends the lease. Of a job that was taken over all the same, nothing is committed.
// - A lost connection is made anew, with growing pauses. Any other error of the client's own statements,
//   as after queue_drop, rejects run() with that error, once the other jobs under way are finished.
// - So does an error of the first connection that no waiting mends, such as a wrong password.
// - SIGTERM, SIGINT and stop(): jobs under way are finished, and no more are claimed.

import { setMaxListeners } from 'node:events';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { Link } from './link.mjs';

// The names that SQL has for the options of a send.
const sendOptions = { priority: 'priority', runAt: 'run_at', maxAttempts: 'max_attempts', kind: 'kind',
	expiresAt: 'expires_at', expiresIn: 'expires_in' };
const onceOptions = { ...sendOptions, uniqueBy: 'unique_by', period: 'period', states: 'states', timeZone: 'time_zone',
	onConflict: 'on_conflict', maxDelay: 'max_delay' };

// Jobs are sent through the caller's client, and so in the caller's transaction.
export class Queue {
	constructor(name) {
		this.name = name;
	}

	async send(client, payload, options) {
		return (await this.#send(client, 'queue_send', JSON.stringify(payload), options, sendOptions))[0].id;
	}

	async sendMany(client, payloads, options) {
		const array = Array.from(payloads, (payload) => JSON.stringify(payload));
		return (await this.#send(client, 'queue_send_many', array, options, sendOptions)).map((row) => row.id);
	}

	async sendOnce(client, payload, options) {
		return (await this.#send(client, 'queue_unique_insert', JSON.stringify(payload), options, onceOptions))[0];
	}

	async #send(client, call, payload, options = {}, known) {
		const given = Object.entries(options).filter(([, value]) => value !== undefined);
		const named = given.map(([option], index) => {
			if (!Object.hasOwn(known, option)) throw new TypeError(`${call} has no option ${option}`);
			return `, ${known[option]} => $${index + 3}`;
		});
		const values = [this.name, payload, ...given.map(([, value]) => value)];
		return (await client.query(`select * from ${call}($1, $2${named.join('')}) as id`, values)).rows;
	}
}

// Thrown by a handler: the job has failed with this text, and is tried again after the delay, if one is given.
export class Retry extends Error {
	constructor(error = '', { delay = null } = {}) {
		super(error);
		if (delay !== null && typeof delay !== 'string') throw new TypeError(`the delay of Retry is an interval, a string, not ${delay}`);
		this.delay = delay;
	}
}

// Thrown by a handler: the job has failed for good. It is dead, with this text, whatever attempts it has left.
export class Fail extends Error {}

// Thrown by a handler: the job goes back to its queue, until runAt if given. No attempt is charged.
export class Release extends Error {
	constructor({ runAt = null } = {}) {
		super('released');
		const isTime = runAt instanceof Date ? !Number.isNaN(runAt.getTime()) : runAt === null || typeof runAt === 'string';
		if (!isTime) throw new TypeError(`runAt of Release is a Date or a string, not ${runAt}`);
		this.runAt = runAt;
	}
}

// A claim of a job. The signal aborts when the lease has run out and another worker has the job.
export class Job {
	#lost = new AbortController();
	#isHandled = false;
	#told;
	progress; // set by the handler

	constructor(queue, row) {
		this.queue = queue;
		this.id = row.id;
		this.attempt = row.attempt;
		this.payload = row.payload;
		this.priority = row.priority;
		this.runAt = row.run_at;
		this.maxAttempts = row.max_attempts;
		this.leasedUntil = row.leased_until;
		this.leasedBy = row.leased_by;
		this.lastError = row.last_error;
		this.createdAt = row.created_at;
		this.kind = row.kind;
	}

	get signal() {
		return this.#lost.signal;
	}

	get isHandled() {
		return this.#isHandled;
	}

	lose() {
		this.#lost.abort(new Error(`job ${this.id} of ${this.queue.name} was taken over: its lease had run out`));
	}

	async ask(client, call, ...values) {
		const { rows } = await client.query(`select ${call}`, [this.queue.name, this.id, this.attempt, ...values]);
		return Object.values(rows[0])[0];
	}

	// False if another worker has the job.
	async handle(client, handler) {
		const result = await handler(this, client);
		this.#isHandled = true;
		return this.ask(client, 'queue_complete($1, $2, $3, $4)', JSON.stringify(result ?? undefined));
	}

	// The progress, if that is new. What cannot be kept is refused once, and then as if told.
	#news() {
		let progress;
		try {
			progress = JSON.stringify(this.progress ?? undefined);
		} catch (error) {
			this.#refuse(String(error), error);
		}
		return progress === this.#told ? undefined : progress;
	}

	#refuse(progress, error) {
		if (this.#told !== progress) this.refusal = error;
		this.#told = progress;
	}

	// Waits for no lock for long: other jobs' leases are extended by the same connection. A transaction
	// that has locked the row is about to complete the job.
	async extend(client, lease, isAlone = false) {
		const progress = isAlone ? undefined : this.#news();
		const [values, ...more] = progress === undefined ? ['$1, $2, $3, $4'] : ['$1, $2, $3, $4, $5', progress];
		try {
			const isOurs = await this.ask(client, `queue_extend(${values}) from set_config('lock_timeout', '1s', true)`, lease, ...more);
			this.#told = progress ?? this.#told;
			return isOurs;
		} catch (error) {
			if (error.code === '55P03') return true;
			if (progress === undefined || !/^(22|55000|42883)/.test(error.code)) throw error;
			this.#refuse(progress, error);
			return this.extend(client, lease, true);
		}
	}

	// Says what became of a job that was not completed. Changes nothing if another worker has it, or if
	// the job was completed and the answer lost.
	async giveBack(client, error) {
		for (const [call, ...more] of waysBack(error)) {
			try {
				return await this.ask(client, call, ...more);
			} catch (why) {
				// Of the data, as the server says, or the driver before it asks.
				if (!why.code?.startsWith('22') && !(why instanceof TypeError || why instanceof RangeError)) throw why;
			}
		}
		return undefined;
	}
}

// The first is what is meant. A time may be none that the server takes, and the database's encoding may lack what a
// text has.
function waysBack(error) {
	if (error instanceof Release)
		return [['queue_release($1, $2, $3, $4)', error.runAt], ['queue_release($1, $2, $3)']];
	const text = textOf(error).replaceAll('\0', '').slice(-2000);
	const delayed = error instanceof Retry ? [['queue_fail($1, $2, $3, $4, $5)', text, error.delay]] : [];
	const fail = `queue_fail($1, $2, $3, $4${error instanceof Fail ? ', retry => false' : ''})`;
	return [...delayed, ...[text, 'its error cannot be stored'].map((so) => [fail, so])];
}

function textOf(error) {
	try {
		if (error instanceof Retry || error instanceof Fail) return error.message;
		return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
	} catch {
		return 'an error without a text';
	}
}

const workers = [];

// Registers a handler for the jobs of a queue, or for those of some kinds, and returns it.
export function worker(queue, options, handler) {
	if (handler === undefined) return worker(queue, {}, options);
	const { kinds = null, concurrency = 1, heartbeat = 10, lease = null, wait = '1 minute', ...others } = options;
	if (Object.keys(others).length) throw new TypeError(`a worker has no option ${Object.keys(others)}`);
	if (!(Number.isFinite(heartbeat) && heartbeat > 0)) throw new RangeError(`a heartbeat comes after some seconds, not ${heartbeat}`);
	workers.push({ queue, handler, kinds, concurrency, heartbeat, lease, wait });
	return handler;
}

export function workersOf(handlers = workers.map(({ handler }) => handler)) {
	const chosen = workers.filter(({ handler }) => handlers.includes(handler));
	if (!chosen.length || handlers.some((handler) => !chosen.some((worker) => worker.handler === handler)))
		throw new Error('a handler is not registered with worker()');
	return chosen;
}

// A courtesy to the handler that errs, and no fence: a transaction can be ended in other words, too.
const ofTransactions = new RegExp(String.raw`^(\s|--.*(\n|$)|/\*[^]*?\*/)*` +
	String.raw`(begin|start\s+transaction|commit|end|abort|rollback(?![^]*\bto\b)|prepare\s+transaction)\b`, 'i');

// A client whose first query begins a transaction, which is ours to end. If the connection was lost before
// that, there is a new one: nothing has been done by it since the claim.
function inTransaction(link, late) {
	const over = new AbortController();
	late.addEventListener('abort', () => over.abort(), { signal: over.signal });
	const state = { begun: undefined, isOver: false };
	// What a handler that has failed has left behind may have begun to begin.
	state.end = async () => {
		state.isOver = true;
		over.abort();
		await state.begun?.catch(() => {});
	};
	async function query(...values) {
		if (ofTransactions.test(values[0]?.text ?? values[0]))
			throw new Error('the transaction of a job is begun and ended for the handler, which may use savepoints');
		const begun = state.isOver || await (state.begun ??= link.ask((client) => client.query('begin'), over.signal, { isDue: true }));
		if (state.isOver || !begun || !link.client) throw new Error(state.isOver ? 'the job is over' : 'no connection');
		return link.client.query(...values);
	}
	state.client = new Proxy({}, {
		get(_, property) {
			if (property === 'query') return query;
			const value = link.client?.[property];
			return typeof value === 'function' ? value.bind(link.client) : value;
		},
	});
	return state;
}

class Run {
	#stop = new AbortController();
	#late = new AbortController(); // what a lease does as well is not waited for
	#waiting = new Set();
	#errors = [];

	constructor({ connection = {}, name = `${hostname()} ${process.pid}`, log = console.error }) {
		this.connection = connection;
		this.name = name;
		this.log = (text, ...more) => log(`${name}: ${text}`, ...more);
		this.heart = new Link(this);
		this.hasConnected = false;
		setMaxListeners(0, this.#stop.signal, this.#late.signal);
	}

	// The server claims no job for a client that is gone. One that was claimed at that very moment comes
	// back with its lease.
	stop() {
		if (this.#stop.signal.aborted) return;
		this.#stop.abort();
		setTimeout(() => this.#late.abort(), 5000).unref();
		for (const link of this.#waiting) link.end();
	}

	async serveAll(chosen) {
		await Promise.all(chosen.flatMap((worker) => Array.from({ length: worker.concurrency }, () => this.#serve(worker))));
		this.heart.end();
		if (this.#errors.length) throw this.#errors[0];
	}

	// Does a job at a time. An error of its own ends the run, but not what others do.
	async #serve(worker) {
		const link = new Link(this);
		const stopping = this.#stop.signal;
		try {
			while (!stopping.aborted) {
				this.#waiting.add(link);
				const row = await link.ask((client) => pop(client, worker, this.name), stopping);
				this.#waiting.delete(link);
				if (!row?.id) continue;
				const job = new Job(worker.queue, row);
				const failed = stopping.aborted ? { error: new Release() } : await this.#attempt(link, worker, job);
				if (job.signal.aborted) this.log(job.signal.reason.message);
				else if (failed) await link.ask((client) => job.giveBack(client, failed.error), this.#late.signal, { isDue: true });
			}
		} catch (error) {
			this.log(`ends: ${error.message}`);
			this.#errors.push(error);
			this.stop();
		} finally {
			this.#waiting.delete(link);
			link.end();
		}
	}

	// Resolves to the error to give the job back with. No transaction is open then.
	async #attempt(link, worker, job) {
		const transaction = inTransaction(link, this.#late.signal);
		const over = new AbortController();
		this.#beat(worker, job, over.signal);
		try {
			const isCompleted = await job.handle(transaction.client, worker.handler);
			transaction.isOver = true;
			if (transaction.begun) {
				const { command } = await link.client.query(isCompleted ? 'commit' : 'rollback');
				// The server ends a transaction in which a statement has failed so, too.
				if (isCompleted && command !== 'COMMIT') throw new Error('a statement that was not awaited has failed');
			}
			if (!isCompleted) job.lose();
			return undefined;
		} catch (error) {
			await transaction.end();
			if (![Retry, Fail, Release].some((kind) => error instanceof kind) && !job.signal.aborted)
				this.log(`job ${job.id} of ${job.queue.name} failed:`, error);
			if (transaction.begun) await link.client?.query('rollback').catch(() => link.end());
			return { error };
		} finally {
			over.abort();
			transaction.end();
		}
	}

	// A heartbeat that fails ends nothing: at worst the lease does.
	async #beat(worker, job, over) {
		while (!job.signal.aborted) {
			await sleep(Math.min(1000 * worker.heartbeat, 2 ** 31 - 1), null, { signal: over }).catch(() => {});
			if (over.aborted) return;
			try {
				const isOurs = await this.heart.ask((client) => job.extend(client, worker.lease), over,
					{ limit: 1000 * Math.max(worker.heartbeat, 5) });
				if (isOurs === false && !job.isHandled) job.lose();
				if (job.refusal) this.log(`the progress of job ${job.id} of ${job.queue.name} is not kept: ${job.refusal.message}`);
				job.refusal = undefined;
			} catch (error) {
				this.log(`no heartbeat of job ${job.id} of ${job.queue.name}: ${error.message}`);
			}
		}
	}
}

// A role's statement_timeout may be shorter than the wait.
async function pop(client, { queue, wait, lease, kinds }, name) {
	const call = 'call queue_pop_wait($1, $2, lease => $3, worker => $4, kinds => $5)';
	try {
		return (await client.query(call, [queue.name, wait, lease, name, kinds])).rows[0];
	} catch (error) {
		if (error.code !== '57014') throw error;
		return undefined;
	}
}

const runs = new Set();

// Does the jobs of all registered handlers, or of these, until stop() is called or one of the signals comes.
export async function run({ handlers, signals = ['SIGTERM', 'SIGINT'], ...options } = {}) {
	const run = new Run(options);
	const stopped = () => run.stop();
	runs.add(run);
	for (const signal of signals) process.on(signal, stopped);
	try {
		await run.serveAll(workersOf(handlers));
	} finally {
		for (const signal of signals) process.off(signal, stopped);
		runs.delete(run);
	}
}

// Tells all runs of the process to stop. Returns at once.
export function stop() {
	for (const run of runs) run.stop();
}
