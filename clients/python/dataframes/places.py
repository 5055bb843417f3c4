"""The same tables at two places: behind the REST namespace of the service, and in a folder."""

import inspect
import itertools
import json
import os
import urllib.request

import lance
import lance_namespace
import pyarrow as pa

from outcomes import same
from sample_rows import sample, to_stream

URL = os.environ["TILTYARD_URL"]
KEY = os.environ["TILTYARD_API_KEY"]
DATABASE = os.environ["TILTYARD_DATABASE"]
SCRATCH = os.environ["TILTYARD_SCRATCH"]

numbers = itertools.count(1)


class Place:
    """Connectors are told by `table` where a table is."""

    def __init__(self, implementation, properties):
        self.implementation = implementation
        self.properties = properties
        self.namespace = lance_namespace.connect(implementation, properties)

    def table(self, name):
        return {
            "table_id": [name],
            "namespace_impl": self.implementation,
            "namespace_properties": self.properties,
        }

    def create(self, name, rows=None):
        path = name if isinstance(name, list) else [name]
        stream = to_stream(sample() if rows is None else rows)
        self.namespace.create_table(lance_namespace.CreateTableRequest(id=path), stream)

    def write(self, name, rows):
        return lance.write_dataset(rows, namespace_client=self.namespace, table_id=[name], mode="create")

    def dataset(self, name):
        return lance.dataset(namespace_client=self.namespace, table_id=[name])

    def rows(self, name):
        return self.dataset(name).to_table().to_pylist()

    def indexes(self, name):
        return sorted(each.name for each in self.dataset(name).describe_indices())


class Service(Place):
    """Rows and indexes are read by the server itself, which must know what was committed next to it."""

    def rows(self, name):
        return self.post(name, "query", {"k": 10_000})["rows"]

    def indexes(self, name):
        return sorted(each["index_name"] for each in self.post(name, "index/list", {})["indexes"])

    def create(self, name, rows=None):
        super().create(name, rows)
        # On an object store the server sees other commits than those through it some seconds later.
        if os.environ["TILTYARD_SERVICE"] == "nodes" and isinstance(name, str):
            self.manage(name)

    def manage(self, name):
        self.post(name, "managed_versioning", {"enabled": True})

    def post(self, name, operation, body):
        headers = {"content-type": "application/json", "accept": "application/json", "x-api-key": KEY}
        request = urllib.request.Request(f"{URL}/v1/table/{name}/{operation}", json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request) as reply:
            return json.load(reply)


SERVICE = Service("rest", {"uri": URL, "header.x-api-key": KEY, "header.x-lancedb-database": DATABASE})
FOLDER = Place("dir", {"root": SCRATCH})


def new_name(word):
    return f"{word}_{next(numbers)}"


def alike(check):
    """Runs a check at both places, under the same names, and compares what it gives back."""

    def compare():
        name = new_name(check.__name__)
        same(plain(check(SERVICE, name)), plain(check(FOLDER, name)), "behind the service")

    return compare


def plain(seen):
    if isinstance(seen, pa.Table):
        seen = seen.to_pylist()
    if isinstance(seen, list) and seen and isinstance(seen[0], dict) and "id" in seen[0]:
        return sorted(seen, key=lambda row: row["id"])
    return seen


def checks_of(module, checks, others=()):
    """Of every function that the module exports but `others`; one that nothing tries is a failure."""
    by_name = {check.__name__: alike(check) for check in checks}
    exported = [name for name in module.__all__ if inspect.isfunction(getattr(module, name))]
    return {f"{module.__name__}.{name}": by_name.get(name, untried) for name in exported if name not in others}


def untried():
    raise NotImplementedError("nothing tries this function")
