"""From an empty server to an indexed table and back, with plain HTTP: pyarrow makes and reads the Arrow bytes."""

import os

import pyarrow as pa
import requests

BASE = os.environ.get("TILTYARD_URL", "http://127.0.0.1:2333")
session = requests.Session()
session.headers["x-api-key"] = os.environ["TILTYARD_KEY"]


def call(path, body=None, *, method="POST", **options):
    reply = session.request(method, f"{BASE}{path}", json=body, **options)
    if not reply.ok:
        raise SystemExit(f"{path}: {reply.status_code} {reply.text}")
    return reply


def stream(table):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def send(path, table, **params):
    headers = {"content-type": "application/vnd.apache.arrow.stream"}
    return call(path, data=stream(table), params=params, headers=headers).json()


def books(first, last):
    numbers = range(first, last)
    vectors = pa.array([[n % 7 / 7, n % 5 / 5, n % 3 / 3, 1.0] for n in numbers], pa.list_(pa.float32(), 4))
    titles = [f"volume {n} of the {'red' if n % 2 else 'blue'} series" for n in numbers]
    return pa.table({"id": pa.array(numbers, pa.int64()), "title": titles, "vector": vectors})


def query(body):
    return pa.ipc.open_file(call("/v1/table/library$books/query", body).content).read_all()


call("/v1/namespace/library/create", {"properties": {"owner": "reading room"}})
print("created", send("/v1/table/library$books/create", books(0, 500))["version"])
print("inserted", send("/v1/table/library$books/insert", books(500, 600))["version"])
merged = send(
    "/v1/table/library$books/merge_insert",
    books(590, 610),
    on="id",
    when_matched_update_all="true",
    when_not_matched_insert_all="true",
)
print("merged", merged["num_updated_rows"], "updated,", merged["num_inserted_rows"], "inserted")
print("deleted", call("/v1/table/library$books/delete", {"predicate": "id >= 605"}).json()["num_deleted_rows"])
print("rows", call("/v1/table/library$books/count_rows", {}).json())

call("/v1/table/library$books/create_index", {"column": "title", "index_type": "FTS"})
call("/v1/table/library$books/create_scalar_index", {"column": "id", "index_type": "BTREE"})
indexes = call("/v1/table/library$books/index/list", {}).json()["indexes"]
print("indexes", sorted(index["index_name"] for index in indexes))

nearest = query({"vector": {"single_vector": [0.5, 0.5, 0.5, 1.0]}, "k": 3, "filter": "id < 100"})
print("nearest", nearest.column_names, nearest.num_rows)
found = query({"k": 5, "full_text_query": {"string_query": {"query": "blue"}}})
print("by words", found.num_rows, found.column("title")[0].as_py().split()[-2])

call("/v1/table/library$books/tags/create", {"tag": "before", "version": 1})
print("at the tag", call("/v1/table/library$books/tags/version", {"tag": "before"}).json()["version"])
print("rows then", call("/v1/table/library$books/count_rows", {"version": 1}).json())
call("/v1/table/library$books/restore", {"version": 1})
print("rows now", call("/v1/table/library$books/count_rows", {}).json())

call("/v1/table/library$books/rename", {"new_table_name": "volumes"})
print("tables", call("/v1/namespace/library/table/list", method="GET").json()["tables"])
call("/v1/namespace/library/drop", {"behavior": "Cascade"})
print("left", call("/v1/namespace/$/list", method="GET").json()["namespaces"])
