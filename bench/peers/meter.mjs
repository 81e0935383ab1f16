// meter.mjs - counts jobs, and says how many a second were done once the program
// was warm. Where JOB_LIMIT is set it counts until then instead. Where SERIES is set
// it says how many were done in each second, from the first on.

const warmUp = 500;

export class Meter {
	constructor() {
		this.limit = Number(process.env.JOB_LIMIT || 0);
		this.seconds = Number(process.env.SECONDS_A_RUN || 2);
		this.total = 0;
		this.began = performance.now();
		this.mark = null;
		this.ended = false;
		this.done = new Promise((resolve) => { this.resolve = resolve; });
		if (process.env.SERIES) {
			this.series = [];
			this.#tick(1);
		} else if (!this.limit) {
			setTimeout(() => this.#start(), warmUp);
			setTimeout(() => this.end(), warmUp + this.seconds * 1000);
		}
	}

	#start() {
		this.mark = { total: this.total, at: performance.now() };
	}

	// A busy program may be late for a second, or miss it: the next one has what was done since.
	#tick(second) {
		setTimeout(() => {
			const from = this.mark ?? { total: 0, at: this.began };
			this.#start();
			const rate = (this.total - from.total) * 1000 / (this.mark.at - from.at);
			const passed = Math.max(second, Math.floor((this.mark.at - this.began) / 1000));
			this.series.push(`${passed} ${rate.toPrecision(6)}`);
			if (passed < this.seconds) this.#tick(passed + 1);
			else this.end();
		}, this.began + second * 1000 - performance.now());
	}

	add(count) {
		if (this.ended) return;
		this.total += count;
		if (this.limit && this.total >= this.limit) this.end();
	}

	// Also where a backlog has run out.
	end() {
		if (this.ended) return;
		this.ended = true;
		const from = this.mark ?? { total: 0, at: this.began };
		this.rate = (this.total - from.total) * 1000 / (performance.now() - from.at);
		this.resolve();
	}

	async report() {
		await this.done;
		if (this.series) console.log(this.series.join('\n'));
		else console.log(`${this.rate.toPrecision(6)} ${this.total}`);
	}
}

export const payload = JSON.parse(process.env.PAYLOAD);

export function repeat(count, work) {
	return Promise.all(Array.from({ length: count }, (_, i) => work(i)));
}
