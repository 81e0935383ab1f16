import type { ClientBase } from 'pg';
import type { Handler, Job, Queue } from './index.mjs';

/**
 * Does all jobs of the registered handlers, or of these, that are due, and those that they send, in the transaction
 * that is open. Resolves to these jobs. What a handler throws is thrown, but for Retry and Release.
 */
export function runDue(client: ClientBase, handlers?: Handler[]): Promise<Job[]>;

/** The payloads of the jobs that wait in the queue, due or not, in the order in which they are claimed. */
export function sent<Payload>(client: ClientBase, queue: Queue<Payload>): Promise<Payload[]>;
