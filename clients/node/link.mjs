import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

const retry = Symbol('retry');
const lastLimit = 5000; // milliseconds for a call that is made when all is over

// A connection that is made anew when it is lost.
export class Link {
	#turn = Promise.resolve(); // one at a time: all jobs share that of the heartbeat
	client;

	constructor(run) {
		this.run = run;
	}

	// Given up once it is over.
	async #connect(over) {
		const { connection, name } = this.run;
		const config = typeof connection === 'string' ? { connectionString: connection } : connection;
		const client = new pg.Client({ connectionTimeoutMillis: 10_000, ...config, application_name: name });
		client.on('error', () => {}); // its next query says so
		if (over.aborted) throw new Error('it is over');
		const giveUp = () => client.connection.stream.destroy();
		over.addEventListener('abort', giveUp);
		try {
			await client.connect();
		} finally {
			over.removeEventListener('abort', giveUp);
		}
		this.client = client;
		this.run.hasConnected = true;
	}

	// Ends what it waits for, too.
	end() {
		const { client } = this;
		this.client = undefined;
		client?.end().catch(() => {});
	}

	async #attempt(call, over, { limit = Infinity, isDue = false }) {
		const isLast = isDue && over.aborted;
		try {
			if (!this.client) await this.#connect(over);
			if (isLast || !over.aborted) return await within(isLast ? lastLimit : limit, call(this.client));
		} catch (error) {
			if (isLast) this.end();
			if (over.aborted) return undefined;
			// An error of the configuration, if there has been no connection yet.
			const isAnswer = error instanceof pg.DatabaseError || /^SASL/.test(error.message);
			if (isAnswer && !/^(08|40|53|55P03|57)/.test(error.code) && (this.client || !this.run.hasConnected)) throw error;
			this.run.log(`no connection, trying again: ${error.message}`);
			this.end();
		}
		return retry;
	}

	// Calls what asks the server; again on a new connection while the server does not answer, within the limit in
	// milliseconds, also for what may have been done: a receipt is good for one completion. Resolves to
	// undefined once it is over; what is due is tried once then, on the connection that there is.
	async ask(call, over = new AbortController().signal, options = {}) {
		for (let pause = 100; !over.aborted || (options.isDue && this.client); pause = Math.min(2 * pause, 10_000)) {
			const turn = this.#turn.then(() => this.#attempt(call, over, options));
			this.#turn = turn.catch(() => {});
			const answer = await turn;
			if (answer !== retry) return answer;
			await sleep(pause * (0.5 + Math.random() / 2), null, { signal: over }).catch(() => {});
		}
		return undefined;
	}
}

async function within(milliseconds, answer) {
	if (milliseconds === Infinity) return answer;
	const timer = new AbortController();
	const late = sleep(milliseconds, null, { signal: timer.signal }).then(
		() => Promise.reject(new Error(`no answer in ${milliseconds / 1000} s`)), () => {});
	try {
		return await Promise.race([answer, late]);
	} finally {
		timer.abort();
		answer.catch(() => {});
	}
}
