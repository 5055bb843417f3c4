"""Tries every function of daft-lance with tables of the REST namespace of the service."""

from importlib.metadata import version

import daft
import daft_lance
import pyarrow as pa

from outcomes import run_checks
from places import SERVICE, alike, checks_of
from sample_rows import sample


def read_lance(place, name):
    place.create(name)
    table = daft_lance.read_lance(**place.table(name))
    return [
        table.to_pylist(),
        table.where(daft.col("id") < 5).select("id", "name").to_pylist(),
        table.agg(daft.col("price").sum()).to_pylist(),
        table.limit(3).count_rows(),
    ]


def write_lance(place, name):
    frame = daft.from_arrow(sample())
    daft_lance.write_lance(frame, mode="create", **place.table(name))
    daft_lance.write_lance(daft.from_arrow(sample(20, 5)), mode="append", **place.table(name))
    appended = place.rows(name)
    daft_lance.write_lance(daft.from_arrow(sample(50, 3)), mode="overwrite", **place.table(name))
    return [by_id(appended), by_id(place.rows(name))]


def write_managed(place, name):
    """The server makes the commits of a table with managed versioning."""
    place.create(name)
    if place is SERVICE:
        place.manage(name)
    daft_lance.write_lance(daft.from_arrow(sample(20, 5)), mode="append", **place.table(name))
    return by_id(place.rows(name))


def compact_files(place, name):
    place.create(name)
    for first in (20, 40):
        daft_lance.write_lance(daft.from_arrow(sample(first, 20)), mode="append", **place.table(name))
    daft_lance.compact_files(**place.table(name))
    return by_id(place.rows(name))


def create_scalar_index(place, name):
    place.create(name)
    daft_lance.create_scalar_index(column="name", index_type="INVERTED", **place.table(name))
    return [place.indexes(name), by_id(place.rows(name))]


def optimize_indices(place, name):
    place.create(name)
    daft_lance.create_scalar_index(column="name", index_type="INVERTED", **place.table(name))
    daft_lance.write_lance(daft.from_arrow(sample(20, 5)), mode="append", **place.table(name))
    daft_lance.optimize_indices(**place.table(name))
    return [place.indexes(name), by_id(place.rows(name))]


def merge_columns(place, name):
    place.create(name)

    def double(batch):
        return pa.RecordBatch.from_arrays([pa.compute.multiply(batch["price"], 2.0)], ["twice"])

    daft_lance.merge_columns(transform=double, read_columns=["price"], **place.table(name))
    return by_id(place.rows(name))


def merge_columns_df(place, name):
    place.create(name)
    options = {"default_scan_options": {"with_row_address": True}, "include_fragment_id": True}
    frame = daft_lance.read_lance(**options, **place.table(name))
    frame = frame.with_column("twice", daft.col("price") * 2).select("_rowaddr", "fragment_id", "twice")
    daft_lance.merge_columns_df(frame, **place.table(name))
    return by_id(place.rows(name))


def update_columns_df(place, name):
    place.create(name)
    options = {"default_scan_options": {"with_row_address": True}, "include_fragment_id": True}
    frame = daft_lance.read_lance(**options, **place.table(name))
    frame = frame.with_column("price", daft.col("price") + 1).select("_rowaddr", "fragment_id", "price")
    daft_lance.update_columns_df(frame, columns=["price"], **place.table(name))
    return by_id(place.rows(name))


def blobs_of(take):
    """Blobs of a table that pylance has written."""

    def check(place, name):
        blob = pa.field("data", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
        schema = pa.schema([pa.field("id", pa.int64()), blob])
        rows = pa.table({"id": [1, 2], "data": [b"one", b"two"]}, schema=schema)
        dataset = place.write(name, rows)
        frame = daft_lance.read_lance(default_scan_options={"with_row_id": True}, **place.table(name))
        return [bytes_of(each["data"]) for each in take(frame, dataset, "data").sort("id").to_pylist()]

    return check


def bytes_of(blob):
    return blob if isinstance(blob, bytes) else blob.read()


def by_id(rows):
    return sorted(rows, key=lambda row: row["id"])


def named(name, check):
    check.__name__ = name
    return check


CHECKS = [
    read_lance,
    write_lance,
    compact_files,
    create_scalar_index,
    optimize_indices,
    merge_columns,
    merge_columns_df,
    update_columns_df,
    named("read_blobs", blobs_of(lambda *given: daft_lance.read_blobs(*given))),
    named("take_blobs", blobs_of(lambda *given: daft_lance.take_blobs(*given))),
]
KNOWN = {
    "daft_lance.create_scalar_index": (
        "[[], [{",
        "0.5.0 commits the index without its kind, and the service lists no index of an unknown kind",
    )
}
run_checks(
    {**checks_of(daft_lance, CHECKS), "daft_lance.write_lance, managed": alike(write_managed)},
    KNOWN if version("daft-lance") == "0.5.0" else None,
)
