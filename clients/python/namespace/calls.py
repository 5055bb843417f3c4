"""The calls that most checks make, to whichever client the program has connected."""

import itertools
import os

import pyarrow as pa

import lance_namespace_urllib3_client as models
from outcomes import Differs, same
from sample_rows import rows_of, sample, to_stream

URL = os.environ["TILTYARD_URL"]
KEY = os.environ["TILTYARD_API_KEY"]
DATABASE = os.environ["TILTYARD_DATABASE"]


class Refused(Exception):
    """The service has refused a call. A client that does not tell the status has `None`."""

    def __init__(self, status, code, detail):
        super().__init__(f"refused with status {status}, code {code}: {detail}")
        self.status = status
        self.code = code


class connected:
    """`call(operation, *args, **kwargs)` of the client under test, with the arguments of the generated one."""

    call = None


def call(name, *args, **kwargs):
    return connected.call(name, *args, **kwargs)


def refused(status, code, name, *args, **kwargs):
    """The call must be refused with this status and this code of the description."""
    try:
        seen = call(name, *args, **kwargs)
    except Refused as refusal:
        same((refusal.status or status, refusal.code), (status, code), f"the refusal of {name}")
        return
    raise Differs(f"{name} answers {seen!r} in place of a refusal with {status}")


numbers = itertools.count(1)


def new_name(word):
    return f"{word}{next(numbers)}"


def new_table(word, rows=None, **kwargs):
    """The id of a table with twenty sample rows."""
    table = new_name(word)
    call("create_table", table, to_stream(sample() if rows is None else rows), **kwargs)
    return table


def query(table, **fields):
    """An Arrow table. The model of a query requires `vector` and `k`, also of a scan."""
    fields = {"k": 1000, "vector": models.QueryTableRequestVector(), **fields}
    data = call("query_table", table, models.QueryTableRequest(**fields))
    return pa.ipc.open_file(pa.py_buffer(bytes(data))).read_all()


def same_rows(table, wanted, **fields):
    found = query(table, **fields)
    same(len(found), len(wanted), f"number of rows of {table}")
    same(rows_of(found), rows_of(wanted), f"rows of {table}")


def insert_into_branch(table, branch, rows):
    before = len(query(table))
    call("insert_into_table", table, to_stream(rows), branch=branch)
    same(len(query(table)) - before, 0, "rows that main has more after an insert into a branch")


def describe(table, **fields):
    """With its version, schema, properties and metadata."""
    return call("describe_table", table, models.DescribeTableRequest(load_detailed_metadata=True, **fields))


def all_pages(name, pick, *args, **kwargs):
    """All entries of a listing, read in pages of one."""
    found, token = [], None
    for _ in range(100):
        page = call(name, *args, limit=1, page_token=token, **kwargs)
        found.extend(pick(page))
        token = page.page_token
        if not token:
            return found
    raise Differs(f"{name} has no last page")
