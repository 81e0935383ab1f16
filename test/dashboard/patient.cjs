// patient.cjs - preloaded into a dashboard: it waits for the server for as long as a machine may stand still.

const pg = require('pg');

const { Pool } = pg;
pg.Pool = class extends Pool {
	constructor(options) {
		super({ ...options, connectionTimeoutMillis: 600_000, query_timeout: 600_000 });
	}
};

const { query } = pg.Client.prototype;
pg.Client.prototype.query = function patient(text, ...more) {
	return query.call(this, typeof text === 'string' ? text.replace("set local statement_timeout = '5s'", "set local statement_timeout = '600s'") : text, ...more);
};
