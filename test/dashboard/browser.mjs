// browser.mjs - chromium, headless, by the DevTools protocol over a pipe. Every name that ends in
// .example is this machine, as it would be for a page that rebinds its name.
//
// Example:
//     const browser = await open('chromium', '/tmp/profile');
//     const page = await browser.page('http://localhost:8080/');
//     await page.until(() => document.querySelector('h1'));
//     await browser.close();

import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';

export async function open(program, profile) {
	// Without a sandbox: containers often cannot have one, and the page is ours.
	const child = spawn(program, ['--headless=new', '--remote-debugging-pipe', '--no-sandbox', '--disable-gpu',
		'--disable-dev-shm-usage', '--no-first-run', '--no-default-browser-check', '--disable-background-networking',
		'--disable-component-update', '--host-resolver-rules=MAP *.example 127.0.0.1', '--hide-scrollbars', '--lang=en', `--user-data-dir=${profile}`, 'about:blank'],
	{ stdio: ['ignore', 'ignore', process.env.VERBOSE ? 'inherit' : 'ignore', 'pipe', 'pipe'] });
	const [, , , input, output] = child.stdio;
	const waiting = new Map(), listeners = new Set();
	let count = 0, rest = '', isGone = false;
	child.on('exit', () => {
		isGone = true;
		for (const { reject } of waiting.values()) reject(new Error('the browser has ended'));
	});
	child.on('error', () => {});
	input.on('error', () => {});
	output.setEncoding('utf8').on('data', (piece) => {
		const messages = (rest + piece).split('\0');
		rest = messages.pop();
		for (const message of messages.map((text) => JSON.parse(text))) {
			const call = waiting.get(message.id);
			waiting.delete(message.id);
			if (!call) for (const listener of listeners) listener(message);
			else if (message.error) call.reject(new Error(message.error.message));
			else call.resolve(message.result);
		}
	});
	const send = (method, params = {}, sessionId) => new Promise((resolve, reject) => {
		if (isGone) return reject(new Error('the browser has ended'));
		waiting.set(++count, { resolve, reject });
		input.write(`${JSON.stringify({ id: count, method, params, sessionId })}\0`);
	});
	await send('Browser.getVersion');

	async function page(url) {
		const { targetId } = await send('Target.createTarget', { url: 'about:blank' });
		const { sessionId } = await send('Target.attachToTarget', { targetId, flatten: true });
		const call = (method, params) => send(method, params, sessionId);
		const complaints = []; // errors of scripts, refusals by the policy, failed requests
		listeners.add(({ sessionId: from, method, params }) => {
			if (from !== sessionId) return;
			if (method === 'Runtime.exceptionThrown') complaints.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
			if (method === 'Runtime.consoleAPICalled') complaints.push(params.args.map(({ value }) => value).join(' '));
			if (method === 'Log.entryAdded') complaints.push(`${params.entry.source}: ${params.entry.text}`);
			if (method === 'Page.javascriptDialogOpening') {
				complaints.push(`dialog: ${params.message}`);
				call('Page.handleJavaScriptDialog', { accept: false });
			}
		});
		await call('Emulation.setFocusEmulationEnabled', { enabled: true });
		for (const domain of ['Page', 'Runtime', 'Log', 'Accessibility']) await call(`${domain}.enable`);
		await call('Page.navigate', { url });

		// Runs a function in the page, with values as arguments.
		async function run(work, ...values) {
			const { result, exceptionDetails } = await call('Runtime.evaluate', {
				expression: `(${work})(...${JSON.stringify(values)})`, awaitPromise: true, returnByValue: true,
			});
			if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
			return result.value;
		}

		// Waits until it returns something; the limit is there to end a test that hangs.
		async function until(work, ...values) {
			for (let tries = 0; tries < 1200; tries++) {
				const result = await run(work, ...values).catch(() => undefined);
				if (result) return result;
				await sleep(100);
			}
			throw new Error(`not within two minutes: ${work} of ${JSON.stringify(values)}`);
		}

		const codes = { Tab: 9, Enter: 13, Escape: 27 };
		async function key(name, modifiers = 0) {
			const event = { key: name, code: name, windowsVirtualKeyCode: codes[name], modifiers, ...(name === 'Enter' && { text: '\r' }) };
			await call('Input.dispatchKeyEvent', { type: 'keyDown', ...event });
			await call('Input.dispatchKeyEvent', { type: 'keyUp', ...event });
		}

		const look = (scheme, width, height) => Promise.all([
			call('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] }),
			call('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false }),
		]);
		const picture = async () => Buffer.from((await call('Page.captureScreenshot', { format: 'png' })).data, 'base64');
		return { call, run, until, key, look, picture, complaints };
	}

	return { page, close: () => send('Browser.close').catch(() => child.kill('SIGKILL')) };
}
