"""DuckDB on tables of the service: as Arrow, as datasets of pylance, and with its own extension for Lance."""

import io
import json
import urllib.request

import duckdb
import lance_namespace
import pyarrow as pa

from outcomes import Skipped, holds, run_checks
from places import KEY, SERVICE, URL, alike

SUMS = "SELECT name, count(*) AS rows, sum(price) AS price FROM items WHERE id >= 4 GROUP BY name ORDER BY name"
JOINED = "SELECT a.id, b.name FROM items a JOIN items b ON a.id = b.id + 1 WHERE b.price < 5"


def ask(items):
    """`items` is what the SQL reads."""
    return [duckdb.sql(SUMS).fetchall(), sorted(duckdb.sql(JOINED).fetchall())]


def query_arrow(place, name):
    """Over the reply to a query."""
    place.create(name)
    return ask(arrow_of(name) if place is SERVICE else place.dataset(name).to_table())


def arrow_of(name):
    headers = {"content-type": "application/json", "x-api-key": KEY}
    body = json.dumps({"k": 10_000}).encode()
    with urllib.request.urlopen(urllib.request.Request(f"{URL}/v1/table/{name}/query", body, headers)) as reply:
        return pa.ipc.open_file(io.BytesIO(reply.read())).read_all()


def query_dataset(place, name):
    """Over a dataset of the REST namespace: DuckDB hands columns and filters down to it."""
    place.create(name)
    return ask(place.dataset(name))


def attach():
    try:
        duckdb.sql("INSTALL lance")
    except duckdb.IOException as error:
        raise Skipped("DuckDB downloads its extension for Lance, and could not reach the address") from error
    duckdb.sql("LOAD lance")
    namespace = "duckdb_attach"
    SERVICE.namespace.create_namespace(lance_namespace.CreateNamespaceRequest(id=[namespace]))
    SERVICE.create([namespace, "items"])
    duckdb.sql(f"ATTACH '{namespace}' AS service (TYPE LANCE, ENDPOINT '{URL}', API_KEY '{KEY}')")
    holds(duckdb.sql("SELECT count(*), sum(price) FROM service.main.items").fetchall() == [(20, 190.0)], "other rows")


run_checks(
    {
        "DuckDB.sql, over a reply in Arrow": alike(query_arrow),
        "DuckDB.sql, over a dataset of pylance": alike(query_dataset),
        "DuckDB.attach": attach,
    }
)
