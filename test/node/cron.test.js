// The next times of cron expressions are those that npm's cron-parser finds: for random expressions, from
// random times that are not near a change of the clock, where the two differ.
//
//   QUEUE_EXT_CRON_EXPRESSIONS=100000 QUEUE_EXT_SEED=7 node --test cron.test.js

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { CronExpressionParser } from 'cron-parser';
import pg from 'pg';

const client = new pg.Client();
const schema = 'test_node_cron';
const zones = ['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'Australia/Sydney', 'Asia/Tokyo'];
const count = Number(process.env.QUEUE_EXT_CRON_EXPRESSIONS ?? 1000);
let state = Number(process.env.QUEUE_EXT_SEED ?? 1);

before(async () => {
	await client.connect();
	await client.query('create extension if not exists queue_ext');
	await client.query(`drop schema if exists ${schema} cascade`);
	await client.query(`create schema ${schema}`);
	await client.query(`select queue_create('${schema}.jobs')`);
});

after(async () => {
	await client.query(`drop schema if exists ${schema} cascade`);
	await client.end();
});

// mulberry32: the same numbers for the same seed.
function random(n) {
	state = (state + 0x6d2b79f5) | 0;
	let t = Math.imul(state ^ (state >>> 15), 1 | state);
	t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
	return ((t ^ (t >>> 14)) >>> 0) % n;
}

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const days = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

function element(lowest, highest, names) {
	const write = (value) => (names && random(3) === 0 ? names[value - lowest] : String(value));
	const first = lowest + random(highest - lowest + 1);
	const last = first + random(highest - first + 1);
	const step = 1 + random(Math.max(1, highest - lowest));
	switch (random(5)) {
		case 0:
			return `*/${step}`;
		case 1:
			return `${write(first)}-${write(last)}`;
		case 2:
			return `${write(first)}-${write(last)}/${step}`;
		default:
			return write(first);
	}
}

function field(lowest, highest, names) {
	if (random(3) === 0) return '*';
	return Array.from({ length: 1 + random(3) }, () => element(lowest, highest, names)).join(',');
}

function expression() {
	if (random(50) === 0) return ['@hourly', '@daily', '@weekly', '@monthly', '@yearly'][random(5)];
	return [field(0, 59), field(0, 23), field(1, 31), field(1, 12, months), field(0, 6, days)].join(' ');
}

// The zone's offset from UTC at that time, in minutes.
const formats = new Map(zones.map((zone) => [zone, new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' })]));
function offset(zone, time) {
	return formats.get(zone).formatToParts(time).find((part) => part.type === 'timeZoneName').value;
}

// Whether the clock changes within two days of the time.
function isNearChange(zone, time) {
	const day = 24 * 3600 * 1000;
	const here = offset(zone, time);
	return [-2, -1, 1, 2].some((n) => offset(zone, new Date(time.getTime() + n * day)) !== here);
}

// Whether a field of a day has all values and is not *: it restricts nothing for us, and for cron-parser it
// is a restriction, which any day meets. (It leaves days out that none of the months has.)
function isAllButStar(cron, fields) {
	const [, , day, , weekday] = cron.split(' ');
	return (
		(day !== undefined && day !== '*' && fields.dayOfMonth.values.length >= 28) ||
		(weekday !== undefined && weekday !== '*' && new Set(fields.dayOfWeek.values.map((value) => value % 7)).size === 7)
	);
}

test(`${count} cron expressions`, async (t) => {
	t.diagnostic(`seed ${state}`);
	let compared = 0;
	let nothing = 0;
	while (compared < count) {
		const cron = expression();
		const zone = zones[random(zones.length)];
		const from = new Date(Date.UTC(2030 + random(30), random(12), 1 + random(28), random(24), random(60), random(60)));
		let expected;
		try {
			const parsed = CronExpressionParser.parse(cron, { currentDate: new Date(from.getTime() - 1000), tz: zone });
			if (isAllButStar(cron, parsed.fields)) continue;
			expected = parsed.next().toDate();
		} catch (error) {
			if (/duplicate values/.test(error.message)) continue; // which it refuses in a list
			assert.match(error.message, /Invalid explicit day of month/, cron);
			expected = null; // such a date never comes
		}
		if (isNearChange(zone, from) || (expected && isNearChange(zone, expected))) continue;
		compared++;
		let found;
		try {
			const result = await client.query('select queue_schedule($1, $2, cron => $3, time_zone => $4, starts_at => $5) as at',
				[`${schema}.jobs`, 's', cron, zone, from.toISOString()]);
			found = result.rows[0].at;
		} catch (error) {
			assert.equal(error.code, '22023', `${cron}: ${error.message}`);
			found = null;
		}
		if (expected === null) nothing++;
		assert.deepEqual(found, expected, `${cron} in ${zone} from ${from.toISOString()}`);
	}
	t.diagnostic(`${nothing} of them never come`);
});
