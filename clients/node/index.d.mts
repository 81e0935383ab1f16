import type { ClientConfig, QueryArrayConfig, QueryArrayResult, QueryConfig, QueryResult, QueryResultRow } from 'pg';

export interface SendOptions {
	/** Smaller goes first. */
	priority?: number;
	runAt?: Date | string | null;
	maxAttempts?: number | null;
	kind?: string | null;
	/** A job that no worker has started by then is not handed out. */
	expiresAt?: Date | string | null;
	/** An interval, such as '10 minutes'. */
	expiresIn?: string | null;
}

export interface OnceOptions extends SendOptions {
	uniqueBy?: string[] | null;
	/** An interval, such as '1 hour'. */
	period?: string | null;
	states?: ('ready' | 'scheduled' | 'leased' | 'dead' | 'done')[] | null;
	timeZone?: string | null;
	onConflict?: 'keep' | 'replace' | 'postpone';
	/** An interval. */
	maxDelay?: string | null;
}

/** A client, or a pool. */
export interface Sender {
	query(text: string, values: unknown[]): Promise<{ rows: any[] }>;
}

/** A queue by its name. Jobs are sent through the caller's client, and so in the caller's transaction. */
export class Queue<Payload = any> {
	constructor(name: string);
	readonly name: string;
	/** Adds a job with a JSON payload, and resolves to its id. */
	send(client: Sender, payload: Payload, options?: SendOptions): Promise<string>;
	/** Adds a job for each payload, and resolves to their ids in that order. */
	sendMany(client: Sender, payloads: Iterable<Payload>, options?: SendOptions): Promise<string[]>;
	/** Adds a job unless there is the same one. */
	sendOnce(client: Sender, payload: Payload, options?: OnceOptions): Promise<{
		id: string; inserted: boolean; outcome: 'inserted' | 'kept' | 'replaced' | 'postponed' }>;
}

/** A claim of a job, as queue_pop returns it. */
export class Job<Payload = any> {
	private constructor();
	readonly queue: Queue<Payload>;
	readonly id: string;
	readonly attempt: number;
	readonly payload: Payload;
	readonly priority: number;
	readonly runAt: Date;
	readonly maxAttempts: number;
	readonly leasedUntil: Date;
	readonly leasedBy: string | null;
	readonly lastError: string | null;
	readonly createdAt: Date;
	readonly kind: string | null;
	/** Set by the handler: how far it has got, as JSON. It is told with the next heartbeat, and kept in the job's row. */
	progress?: unknown;
	/** Aborts when the lease has run out and another worker has the job. */
	readonly signal: AbortSignal;
}

/** Thrown by a handler: the job has failed with this text, and is tried again after the delay, if one is given. */
export class Retry extends Error {
	constructor(error?: string, options?: { delay?: string | null });
	/** An interval. */
	delay: string | null;
}

/** Thrown by a handler: the job has failed for good. It is dead, with this text, whatever attempts it has left. */
export class Fail extends Error {}

/** Thrown by a handler: the job goes back to its queue, until runAt if given. No attempt is charged. */
export class Release extends Error {
	constructor(options?: { runAt?: Date | string | null });
	runAt: Date | string | null;
}

export interface WorkerOptions {
	kinds?: string[] | null;
	concurrency?: number;
	/** Seconds, more than 0; the lease should be some times that. */
	heartbeat?: number;
	/** An interval; null: the queue's. */
	lease?: string | null;
	/** For how long at a time a pop waits in the server: an interval. */
	wait?: string;
}

/** A handler's client, as one of pg, but with promises only, and no part in making connections. */
export interface JobClient {
	query<Row extends any[] = any[], Values extends any[] = any[]>(config: QueryArrayConfig<Values>): Promise<QueryArrayResult<Row>>;
	query<Row extends QueryResultRow = any, Values extends any[] = any[]>(text: string | QueryConfig<Values>, values?: Values): Promise<QueryResult<Row>>;
	escapeIdentifier(text: string): string;
	escapeLiteral(text: string): string;
}

/** What it resolves to is the job's result, if neither undefined nor null. The client's first query begins a transaction. */
export type Handler<Payload = any> = (job: Job<Payload>, client: JobClient) => unknown;

/** Registers a handler for the jobs of a queue, or for those of some kinds, and returns it. */
export function worker<Payload>(queue: Queue<Payload>, handler: Handler<Payload>): Handler<Payload>;
export function worker<Payload>(queue: Queue<Payload>, options: WorkerOptions, handler: Handler<Payload>): Handler<Payload>;

export interface RunOptions {
	connection?: string | ClientConfig;
	/** What leased_by shows. */
	name?: string;
	/** Those to run, if not all that are registered. */
	handlers?: Handler[];
	/** Those that stop the run: SIGTERM and SIGINT. */
	signals?: NodeJS.Signals[];
	log?: (text: string, ...more: unknown[]) => void;
}

/** Does the jobs of all registered handlers, or of these, until stop() is called or one of the signals comes. */
export function run(options?: RunOptions): Promise<void>;

/** Tells all runs of the process to stop. Returns at once. */
export function stop(): void;
