#!/usr/bin/env python3
"""The Python worker of the orders example: it reserves and releases stock and ships parcels.

The standard library alone, to show how little a worker needs: register, poll, report, heartbeat, deregister. What it calls
outside is simulated.
"""

import argparse
import json
import logging
import os
import random
import signal
import threading
import time
import urllib.error
import urllib.request
import uuid
from concurrent.futures import ThreadPoolExecutor

log = logging.getLogger("worker")


class TaskError(Exception):
    """A known failure: the effect did not happen. `code` is what Retry and Catch of the document match."""

    def __init__(self, code, message, retryable=True):
        super().__init__(message)
        self.code, self.retryable = code, retryable


class Refused(Exception):
    """The server's final no. `code` is one of the API's error codes."""

    def __init__(self, status, code, message):
        super().__init__(f"{status} {code}: {message}")
        self.status, self.code = status, code


# ------------------------------------------------------------------ what the worker does


def reserve(task):
    order = task["input"]
    for item in order["items"]:
        if item["sku"] == "unicorn":
            raise TaskError("OutOfStock", f"{order['order']}: no {item['sku']} in stock", retryable=False)
    time.sleep(0.02)
    return {"id": f"res-{order['order']}"}


def release(task):
    time.sleep(0.01)
    return {"released": task["input"]["reservation"]}


def ship(task):
    parcel = task["input"]
    if parcel["address"]["country"] == "Atlantis":
        raise TaskError("AddressUnknown", f"no carrier goes to {parcel['address']['country']}", retryable=False)
    if task["attempt"] == 1 and parcel["parcel"]["weight_g"] % 7 == 0:
        raise TaskError("CarrierBusy", "the carrier takes no more parcels now")
    time.sleep(0.05)
    return {"tracking": f"{parcel['order']}-{parcel['number']}"}


CONTRACTS = {("stock.reserve", 1): reserve, ("stock.release", 1): release, ("shipping.ship", 1): ship}


# ------------------------------------------------------------------ the worker protocol


class Worker:
    def __init__(self, url, worker_id, concurrency, grace):
        self.url, self.id, self.concurrency = url.rstrip("/"), worker_id, concurrency
        self.grace = grace
        self.lock = threading.Lock()
        self.held = set()
        self.session = None
        self.stopping = threading.Event()  # no new work
        self.drained = threading.Event()  # no work at all
        self.give_up = float("inf")  # on the monotonic clock
        self.pool = ThreadPoolExecutor(concurrency)

    def stop(self):
        """Ends run() when what the worker holds is done and reported; calls that fail are repeated for `grace` seconds.

        What could not be reported is offered to another worker when the session has timed out.
        """
        self.give_up = time.monotonic() + self.grace
        self.stopping.set()

    def call(self, path, body):
        """One call; Refused for a final no, OSError for what may work later."""
        request = urllib.request.Request(
            self.url + path, json.dumps(body).encode(), {"Content-Type": "application/json"}, method="POST"
        )
        try:
            with urllib.request.urlopen(request, timeout=35) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as e:
            text = e.read()
            if e.code >= 500 or e.code == 429:
                raise OSError(f"{e.code}: {text[:200]!r}") from e
            try:
                error = json.loads(text)["error"]
            except (ValueError, KeyError, TypeError):
                error = {"code": "", "message": text[:200].decode(errors="replace")}
            raise Refused(e.code, error["code"], error["message"]) from e

    def repeat(self, path, body):
        """The same call until it has a final answer; every call of the protocol can be repeated safely.

        OSError when the worker is to stop and the server stays away.
        """
        pause = 0.05
        while True:
            try:
                return self.call(path, body)
            except OSError as e:
                if time.monotonic() > self.give_up:
                    raise
                if pause > 1:
                    log.warning("%s: %s; trying again", path, e)
                time.sleep(pause * random.uniform(0.5, 1))
                pause = min(pause * 2, 5)

    def register(self):
        contracts = [{"task": t, "version": v} for t, v in CONTRACTS]
        answer = self.repeat(
            "/v1/workers/register", {"worker_id": self.id, "language": "python", "contracts": contracts}
        )
        self.session, self.interval = answer["session_id"], answer["heartbeat_interval_ms"] / 1000
        log.info("registered as %s, session %s", self.id, self.session)

    def heartbeats(self):
        session, beat = None, 0
        while not self.drained.wait(self.interval):
            if session != self.session:
                session, beat = self.session, 0
            beat += 1
            with self.lock:
                tokens = [{"token": t} for t in self.held]
            try:
                self.call("/v1/workers/heartbeat", {"session_id": session, "beat": beat, "tokens": tokens})
            except (OSError, Refused) as e:
                log.warning("heartbeat: %s", e)  # a lost session is replaced by the poll

    def poll(self, free):
        body = {"session_id": self.session, "max_tasks": min(free, 100), "wait_ms": 10000, "poll_id": uuid.uuid4().hex}
        try:
            return self.repeat("/v1/workers/poll", body)["assignments"]
        except Refused as e:
            if e.code != "SESSION_NOT_FOUND":
                raise
            self.register()
            return []
        except OSError as e:
            log.warning("poll: %s", e)  # the worker is to stop
            return []

    def tasks(self, free):
        """What a poll brings, or nothing once the worker is to stop: what comes after that goes back with the session."""
        answers, failures, done = [], [], threading.Event()

        def poll():
            try:
                answers.append(self.poll(free))
            except Exception as e:
                failures.append(e)
            done.set()

        threading.Thread(target=poll, daemon=True).start()
        while not done.wait(0.1):
            if self.stopping.is_set():
                return []
        if failures:
            raise failures[0]
        return answers[0]

    def report(self, path, report):
        try:
            while self.repeat(path, {"reports": [report]})["results"][0]["outcome"] == "retry":
                time.sleep(1)
        except (OSError, Refused) as e:
            log.error("not reported: %s", e)

    def work(self, task):
        token = task["token"]
        try:
            output = CONTRACTS[task["task"], task["contract_version"]](task)
            self.report("/v1/tasks/complete", {"token": token, "output": output})
        except TaskError as e:
            error = {"code": e.code, "message": str(e), "retryable": e.retryable}
            self.report("/v1/tasks/fail", {"token": token, "error": error})
        except Exception as e:  # a fault of the handler fails its task, not the worker
            log.exception("task %s failed", task["unit"])
            self.report("/v1/tasks/fail", {"token": token, "error": {"code": "Worker.Error", "message": repr(e)[:1000]}})
        finally:
            with self.lock:
                self.held.discard(token)

    def run(self):
        self.register()
        threading.Thread(target=self.heartbeats, daemon=True).start()
        while not self.stopping.is_set():
            with self.lock:
                free = self.concurrency - len(self.held)
            if free == 0:
                time.sleep(0.005)
                continue
            for task in self.tasks(free):
                with self.lock:
                    self.held.add(task["token"])
                self.pool.submit(self.work, task)
        self.pool.shutdown(wait=True)
        self.drained.set()
        try:
            self.repeat("/v1/workers/deregister", {"session_id": self.session})
            log.info("deregistered")
        except (OSError, Refused) as e:
            log.warning("the session was not given back: %s", e)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default=os.environ.get("ORRERY_URL", "http://127.0.0.1:8080"))
    parser.add_argument("--id", default="orders-python")
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--grace", type=float, default=10, help="seconds to go on trying once told to stop")
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    worker = Worker(args.url, args.id, args.concurrency, args.grace)
    for s in (signal.SIGINT, signal.SIGTERM):
        signal.signal(s, lambda *_: worker.stop())
    try:
        worker.run()
    except OSError as e:  # stopped before it was registered
        log.warning("never registered: %s", e)


if __name__ == "__main__":
    main()
