"""Runs checks against the service and against local tables, compares both, and prints one outcome per line."""

import asyncio
import concurrent.futures
import inspect
import json
import math
import os
import queue
import re
import threading
from dataclasses import dataclass, field

import lancedb
import pyarrow as pa

DATABASE = os.environ["TILTYARD_DATABASE"]
KEY = os.environ["TILTYARD_API_KEY"]
URL = os.environ["TILTYARD_URL"]
SCRATCH = os.environ["TILTYARD_SCRATCH"]
IS_SHORT = os.environ.get("TILTYARD_SHORT", "") != ""
RELEASE = tuple(int(part) for part in lancedb.__version__.split(".")[:3])

SECONDS_MAX = 60
AT_ONCE = 4
DETAIL_MAX = 600

WORKS = "works"
REFUSED = "refused by the client"
NOT_OFFERED = "not offered"

BY_THE_CLIENT = re.compile(
    r"not (yet )?(supported|implemented)|unsupported|only supported|not available|cannot be run|doesn't support", re.I
)
BY_THE_SERVICE = re.compile(r"http error|http status|request_id|status code|retry limit", re.I)


@dataclass
class Check:
    method: str
    run: callable
    expect: tuple
    is_alone: bool
    explained: object
    is_async: bool = field(init=False)

    def __post_init__(self):
        self.is_async = self.method.startswith("Async")


class Place:
    """Where a check works: one kind of connection, and names that no other check uses."""

    def __init__(self, connection, prefix, is_remote):
        self.connection = connection
        self.is_remote = is_remote
        self.prefix = prefix

    def name(self, suffix="t"):
        return f"{self.prefix}_{suffix}"


CHECKS: list[Check] = []
PRINTING = threading.Lock()


def check(*methods, expect=WORKS, alone=False, explained=None):
    """A check of these methods, which takes a `Place` and returns what is compared; `alone`: there is nothing to compare with."""

    def register(run):
        states = (expect,) if isinstance(expect, str) else tuple(expect)
        for method in methods:
            CHECKS.append(Check(method, run, states, alone, explained))
        return run

    return register


async def done(result):
    """What a call returned, from the synchronous interface as from the asynchronous one."""
    return await result if inspect.isawaitable(result) else result


async def value(member):
    """A property of one interface may be a method of the other."""
    return await done(member() if callable(member) else member)


async def connect(is_async, is_remote, folder):
    if is_remote:
        options = {"api_key": KEY, "host_override": URL}
        uri = f"db://{DATABASE}"
    else:
        options, uri = {}, folder
    return await lancedb.connect_async(uri, **options) if is_async else lancedb.connect(uri, **options)


def plain(given):
    """Comparable: rows of tables, floats to five digits."""
    if isinstance(given, pa.RecordBatchReader):
        given = given.read_all()
    if isinstance(given, (pa.Table, pa.RecordBatch)):
        return plain(given.to_pylist())
    if isinstance(given, pa.Schema):
        return [(each.name, str(each.type), each.nullable, plain(each.metadata)) for each in given]
    if isinstance(given, dict):
        return {plain(key): plain(item) for key, item in given.items()}
    if isinstance(given, (list, tuple)):
        return [plain(each) for each in given]
    if hasattr(given, "tolist"):
        return plain(given.tolist())
    if isinstance(given, float):
        return "nan" if math.isnan(given) else float(f"{given:.5g}")
    if isinstance(given, bytes):
        return given.decode("latin-1")
    return given


def by_id(rows):
    return sorted(plain(rows), key=lambda row: row["id"])


def show(error):
    text = f"{type(error).__name__}: {error}".strip()
    return text if len(text) < DETAIL_MAX else f"{text[:DETAIL_MAX]}…"


def state_of(error):
    text = str(error)
    if "406 Not Acceptable" in text:
        return NOT_OFFERED
    if isinstance(error, NotImplementedError):
        return REFUSED
    return REFUSED if BY_THE_CLIENT.search(text) and not BY_THE_SERVICE.search(text) else "fails"


async def attempt(each, number, is_remote):
    folder = os.path.join(SCRATCH, f"c{number}")
    connection = await connect(each.is_async, is_remote, folder)
    return plain(await done(each.run(Place(connection, f"c{number}", is_remote))))


async def try_check(each, number):
    try:
        got = await attempt(each, number, True)
    except AssertionError as error:
        return "differs", show(error)
    except BaseException as error:  # also panics of the native part
        return state_of(error), show(error)
    if each.is_alone:
        return WORKS, ""
    try:
        wanted = await attempt(each, number, False)
    except BaseException as error:
        return "differs", f"works with the service, not with a local table: {show(error)}"
    if got == wanted:
        return WORKS, ""
    return (
        "differs",
        f"the service: {json.dumps(got, default=str)[:250]}; a local table: {json.dumps(wanted, default=str)[:250]}",
    )


def run_within(limit, each, number):
    """In a thread that is left behind when it takes too long."""
    answers = queue.Queue()

    def work():
        try:
            answers.put(asyncio.run(try_check(each, number)))
        except BaseException as error:
            answers.put(("fails", show(error)))

    threading.Thread(target=work, daemon=True).start()
    try:
        return answers.get(timeout=limit)
    except queue.Empty:
        return "fails", f"did not end within {limit} s"


def outcome_of(each, number):
    state, detail = run_within(SECONDS_MAX, each, number)
    if state in each.expect:
        return report(each.method, state, "" if state == WORKS else detail)
    explained = each.explained(state, detail) if callable(each.explained) else each.explained
    if explained:
        return report(each.method, state, detail, explained)
    if state in (WORKS, REFUSED, NOT_OFFERED):
        return report(each.method, "fails", f"{state}, where {' or '.join(each.expect)} was expected: {detail}")
    return report(each.method, state, detail)


def report(method, outcome, detail="", explained=""):
    line = json.dumps({"method": method, "outcome": outcome, "detail": detail, "explained": explained})
    with PRINTING:
        print(line, flush=True)


def run_checks(checks):
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda numbered: outcome_of(numbered[1], numbered[0]), enumerate(checks)))
