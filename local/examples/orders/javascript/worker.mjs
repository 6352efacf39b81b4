#!/usr/bin/env node
// The JavaScript worker of the orders example: it does what the Python one does, for who would rather read this.
//
// Node.js 18 or later, without packages: register, poll, report, heartbeat, deregister. What it calls outside is simulated.

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

/** A known failure: the effect did not happen. `code` is what Retry and Catch of the document match. */
class TaskError extends Error {
  constructor(code, message, retryable = true) {
    super(message);
    Object.assign(this, { code, retryable });
  }
}

/** The server's final no. `code` is one of the API's error codes. */
class Refused extends Error {
  constructor(status, code, message) {
    super(`${status} ${code}: ${message}`);
    Object.assign(this, { status, code });
  }
}

/** What an answer says: its value, Refused for a final no, another error for what may work later. */
function understood(status, text) {
  if (status < 300) return JSON.parse(text);
  if (status >= 500 || status === 429) throw new Error(`${status}: ${text.slice(0, 200)}`);
  let error = { code: '', message: text.slice(0, 200) };
  try {
    error = JSON.parse(text).error ?? error;
  } catch {
    // not from this server: the text says what there is to say
  }
  throw new Refused(status, error.code, error.message);
}

// ------------------------------------------------------------------ what the worker does

async function reserve({ input: order }) {
  for (const item of order.items) {
    if (item.sku === 'unicorn') throw new TaskError('OutOfStock', `${order.order}: no ${item.sku} in stock`, false);
  }
  await sleep(20);
  return { id: `res-${order.order}` };
}

async function release({ input }) {
  await sleep(10);
  return { released: input.reservation };
}

async function ship({ input: parcel, attempt }) {
  const { country } = parcel.address;
  if (country === 'Atlantis') throw new TaskError('AddressUnknown', `no carrier goes to ${country}`, false);
  if (attempt === 1 && parcel.parcel.weight_g % 7 === 0) throw new TaskError('CarrierBusy', 'the carrier takes no more parcels now');
  await sleep(50);
  return { tracking: `${parcel.order}-${parcel.number}` };
}

const contracts = { 'stock.reserve': [1, reserve], 'stock.release': [1, release], 'shipping.ship': [1, ship] };

// ------------------------------------------------------------------ the worker protocol

class Worker {
  #held = new Map(); // token -> the work, a promise
  #stop = new AbortController(); // no new work: it also ends a poll that waits
  #giveUp = Infinity; // in milliseconds since the epoch
  #drained = false; // no work at all
  #lastPoll; // the poll id of a poll that was ended, whose tasks are asked for once more

  constructor({ url, id, concurrency, grace }) {
    Object.assign(this, { url: url.replace(/\/$/, ''), id, concurrency, grace });
  }

  /**
   * Ends run() when what the worker holds is done and reported; calls that fail are repeated for `grace` seconds. What could
   * not be reported is offered to another worker when the session has timed out.
   */
  stop() {
    this.#giveUp = Date.now() + this.grace * 1000;
    this.#stop.abort();
  }

  /** One call; Refused for a final no, another error for what may work later. */
  async call(path, body, signal) {
    const ended = new AbortController();
    const end = () => ended.abort();
    const timer = setTimeout(end, 35_000);
    signal?.addEventListener('abort', end);
    if (signal?.aborted) end();
    try {
      const answer = await fetch(this.url + path, {
        method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body), signal: ended.signal,
      });
      return understood(answer.status, await answer.text());
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
    }
  }

  /** The same call until it has a final answer: every call of the protocol can be repeated safely. */
  async repeat(path, body, signal) {
    for (let pause = 50; ; pause = Math.min(pause * 2, 5000)) {
      try {
        return await this.call(path, body, signal);
      } catch (e) {
        if (e instanceof Refused || signal?.aborted || Date.now() > this.#giveUp) throw e;
        if (pause > 1000) console.warn(`${path}: ${e.message}; trying again`);
        await sleep(pause * (0.5 + Math.random() / 2));
      }
    }
  }

  async register() {
    const list = Object.entries(contracts).map(([task, [version]]) => ({ task, version }));
    const answer = await this.repeat('/v1/workers/register', { worker_id: this.id, language: 'javascript', contracts: list });
    this.session = answer.session_id;
    this.interval = answer.heartbeat_interval_ms;
    console.info(`registered as ${this.id}, session ${this.session}`);
  }

  async heartbeats() {
    for (let session, beat = 0; !this.#drained; ) {
      await sleep(this.interval, undefined, { ref: false });
      if (session !== this.session) [session, beat] = [this.session, 0];
      const tokens = [...this.#held.keys()].map((token) => ({ token }));
      try {
        await this.call('/v1/workers/heartbeat', { session_id: session, beat: ++beat, tokens });
      } catch (e) {
        console.warn(`heartbeat: ${e.message}`); // a lost session is replaced by the poll
      }
    }
  }

  async poll() {
    const body = {
      session_id: this.session, max_tasks: Math.min(this.concurrency - this.#held.size, 100), wait_ms: 10_000, poll_id: randomUUID(),
    };
    try {
      return (await this.repeat('/v1/workers/poll', body, this.#stop.signal)).assignments;
    } catch (e) {
      if (this.#stop.signal.aborted) {
        this.#lastPoll = body;
      } else if (e.code === 'SESSION_NOT_FOUND') {
        await this.register();
      } else {
        throw e;
      }
      return [];
    }
  }

  /** What a poll that was ended had been given comes again under its poll id, and is done like all the rest. */
  async recall() {
    if (!this.#lastPoll) return [];
    try {
      return (await this.repeat('/v1/workers/poll', { ...this.#lastPoll, wait_ms: 0 })).assignments;
    } catch (e) {
      console.warn(`poll: ${e.message}`);
      return [];
    }
  }

  async report(path, report) {
    try {
      while ((await this.repeat(path, { reports: [report] })).results[0].outcome === 'retry') await sleep(1000);
    } catch (e) {
      console.error(`not reported: ${e.message}`);
    }
  }

  async work(task) {
    const { token } = task;
    try {
      const output = await contracts[task.task][1](task);
      await this.report('/v1/tasks/complete', { token, output });
    } catch (e) {
      // A fault of the handler fails its task, not the worker.
      const error = e instanceof TaskError
        ? { code: e.code, message: e.message, retryable: e.retryable }
        : { code: 'Worker.Error', message: String(e).slice(0, 1000) };
      await this.report('/v1/tasks/fail', { token, error });
    } finally {
      this.#held.delete(token);
    }
  }

  take(tasks) {
    for (const task of tasks) {
      if (!this.#held.has(task.token)) this.#held.set(task.token, this.work(task));
    }
  }

  async run() {
    await this.register();
    this.heartbeats();
    while (!this.#stop.signal.aborted) {
      if (this.#held.size >= this.concurrency) await Promise.race(this.#held.values());
      else this.take(await this.poll());
    }
    this.take(await this.recall());
    await Promise.all(this.#held.values());
    this.#drained = true;
    try {
      await this.repeat('/v1/workers/deregister', { session_id: this.session });
      console.info('deregistered');
    } catch (e) {
      console.warn(`the session was not given back: ${e.message}`);
    }
  }
}

const { values } = parseArgs({
  options: {
    url: { type: 'string', default: process.env.ORRERY_URL ?? 'http://127.0.0.1:8080' },
    id: { type: 'string', default: 'orders-javascript' },
    concurrency: { type: 'string', default: '16' },
    grace: { type: 'string', default: '10' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log('worker.mjs [--url URL] [--id ID] [--concurrency N] [--grace SECONDS to go on trying once told to stop]');
} else {
  const worker = new Worker({ ...values, concurrency: Number(values.concurrency), grace: Number(values.grace) });
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => worker.stop());
  await worker.run();
}
