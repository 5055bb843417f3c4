"""Tries every function of lance-ray with tables of the REST namespace of the service."""

import lance_ray
import pyarrow as pa
import ray
from lance_namespace import CreateNamespaceRequest

from outcomes import run_checks
from places import checks_of
from sample_rows import sample

ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
ray.data.DataContext.get_current().enable_progress_bars = False


def read_lance(place, name):
    place.create(name)
    return [
        by_id(lance_ray.read_lance(**place.table(name)).take_all()),
        by_id(lance_ray.read_lance(columns=["id", "price"], filter="id < 5", **place.table(name)).take_all()),
        lance_ray.read_lance(**place.table(name)).sum("price"),
    ]


def write_lance(place, name):
    lance_ray.write_lance(ray.data.from_arrow(sample()), mode="create", **place.table(name))
    lance_ray.write_lance(ray.data.from_arrow(sample(20, 5)), mode="append", **place.table(name))
    appended = place.rows(name)
    lance_ray.write_lance(ray.data.from_arrow(sample(50, 3)), mode="overwrite", **place.table(name))
    return [by_id(appended), by_id(place.rows(name))]


def vector_search(place, name):
    place.create(name)
    nearest = {"column": "vector", "q": [3.0] * 4, "k": 3}
    return by_id(lance_ray.vector_search(nearest=nearest, num_workers=1, **place.table(name)).to_pylist())


def double(batch):
    return pa.RecordBatch.from_arrays([pa.compute.multiply(batch["price"], 2.0)], ["twice"])


def add_columns(place, name):
    place.create(name)
    lance_ray.add_columns(transform=double, read_columns=["price"], **place.table(name))
    return by_id(place.rows(name))


def add_columns_from(place, name):
    place.create(name)
    lance_ray.add_columns_from(transform=double, read_columns=["price"], **place.table(name))
    return by_id(place.rows(name))


def with_double(batch):
    return batch.append_column("twice", pa.compute.multiply(batch["price"], 2.0)).drop(["price"])


def merge_columns_from(place, name):
    place.create(name)
    options = {"scanner_options": {"with_row_address": True}, "with_metadata": True}
    rows = lance_ray.read_lance(columns=["price"], **options, **place.table(name))
    twice = rows.map_batches(with_double, batch_format="pyarrow")
    lance_ray.merge_columns_from(ds=twice, **place.table(name))
    return by_id(place.rows(name))


def create_scalar_index(place, name):
    place.create(name)
    lance_ray.create_scalar_index(column="id", index_type="BTREE", num_workers=1, **place.table(name))
    return [place.indexes(name), by_id(place.rows(name))]


def create_index(place, name):
    place.create(name, sample(0, 600))
    lance_ray.create_index(column="vector", index_type="IVF_FLAT", num_workers=1, num_partitions=2, **place.table(name))
    return [place.indexes(name), by_id(place.rows(name))]


def optimize_indices(place, name):
    place.create(name)
    lance_ray.create_scalar_index(column="id", index_type="BTREE", num_workers=1, **place.table(name))
    lance_ray.write_lance(ray.data.from_arrow(sample(20, 5)), mode="append", **place.table(name))
    lance_ray.optimize_indices(**place.table(name))
    return [place.indexes(name), by_id(place.rows(name))]


def compact_files(place, name):
    place.create(name)
    lance_ray.write_lance(ray.data.from_arrow(sample(20, 5)), mode="append", **place.table(name))
    lance_ray.compact_files(num_workers=1, **place.table(name))
    return by_id(place.rows(name))


def compact_database(place, name):
    place.namespace.create_namespace(CreateNamespaceRequest(id=[name]))
    place.create([name, "items"])
    place_of = {key: value for key, value in place.table(name).items() if key != "table_id"}
    return len(lance_ray.compact_database(database=[name], num_workers=1, **place_of))


def by_id(rows):
    return sorted(rows, key=lambda row: row["id"])


CHECKS = [
    read_lance,
    write_lance,
    vector_search,
    add_columns,
    add_columns_from,
    merge_columns_from,
    create_scalar_index,
    create_index,
    optimize_indices,
    compact_files,
    compact_database,
]
# The pool of processes is Ray's alone.
POOL = {name for name in lance_ray.__all__ if name.endswith("_global_pool")}
run_checks(checks_of(lance_ray, CHECKS, POOL))
