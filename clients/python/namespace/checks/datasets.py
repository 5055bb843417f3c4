"""
Datasets of pylance next to the service: it reads and writes files at the location that the namespace gives, and the
service must see every commit; and the other way round.
"""

import functools
import os
import time

import lance
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import lance_namespace_urllib3_client as models
from calls import call, describe, insert_into_branch, new_name, query, same_rows
from namespace_calls import namespace
from outcomes import Skipped, holds, same
from sample_rows import DIMENSION, rows_of, sample, to_stream

VECTORS = 300
SECONDS_MAX = 30


class Made:
    """A table with sample rows that pylance has written, and its id."""

    def __init__(self, managed, rows=None):
        self.name = new_name("lance")
        self.at = {"namespace_client": namespace, "table_id": [self.name]}
        self.managed = managed
        rows = sample() if rows is None else rows
        if not managed:
            self.dataset = lance.write_dataset(rows, mode="create", **self.at)
            return
        request = models.DeclareTableRequest(properties={"managed_versioning": "true"})
        reply = call("declare_table", self.name, request)
        if reply.managed_versioning is not True:
            raise Skipped("declare_table does not report managed_versioning")
        self.dataset = lance.write_dataset(rows, mode="overwrite", **self.at)

    def open(self, **kwargs):
        return lance.dataset(**self.at, **kwargs)

    def same_everywhere(self, wanted):
        """The service and a dataset that is opened now have these rows, at the same version."""
        self.seen_by_service(wanted)
        dataset = self.open()
        same(rows_of(dataset.to_table()), rows_of(wanted), "rows of the dataset")
        same(describe(self.name).version, dataset.version, "version of the service, by that of the dataset")

    def seen_by_service(self, wanted):
        """Nodes look for commits of other programs every few seconds (`storage.pollSeconds`)."""
        end = time.monotonic() + (SECONDS_MAX if os.environ["TILTYARD_SERVICE"] == "nodes" and not self.managed else 0)
        while time.monotonic() < end and rows_of(query(self.name)) != rows_of(wanted):
            time.sleep(0.2)
        same_rows(self.name, wanted)

    def insert_by_service(self, rows):
        call("insert_into_table", self.name, to_stream(rows))


def write_dataset(managed):
    made = Made(managed)
    made.same_everywhere(sample())
    lance.write_dataset(sample(20, 10), mode="append", **made.at)
    made.same_everywhere(sample(0, 30))
    made.insert_by_service(sample(30, 10))
    made.same_everywhere(sample(0, 40))
    lance.write_dataset(sample(5, 5), mode="overwrite", **made.at)
    made.same_everywhere(sample(5, 5))


def dataset(managed):
    made = Made(managed)
    made.insert_by_service(sample(20, 10))
    same((made.open(version=1).count_rows(), made.open().count_rows()), (20, 30), "rows of both versions")
    call("create_table_tag", made.name, models.CreateTableTagRequest(tag="first", version=1))
    same(made.open(version="first").version, 1, "version of a tag of the service")


def to_table(managed):
    made = Made(managed)
    near = {"column": "vector", "q": np.full(DIMENSION, 7, np.float32), "k": 3}
    found = made.open().to_table(nearest=near, columns=["id"])
    vector = models.QueryTableRequestVector(single_vector=[7.0] * DIMENSION)
    columns = models.QueryTableRequestColumns(column_names=["id"])
    same(found.to_pylist(), query(made.name, vector=vector, k=3, columns=columns).to_pylist(), "nearest rows")
    filtered = made.open().to_table(filter="id > 3 AND price < 9", columns=["id", "name"])
    columns = models.QueryTableRequestColumns(column_names=["id", "name"])
    same(filtered.to_pylist(), query(made.name, filter="id > 3 AND price < 9", columns=columns).to_pylist(), "filtered")
    same(made.open().take([3, 5]).to_pylist(), sample().take([3, 5]).to_pylist(), "taken rows")


def checkout_latest(managed):
    made = Made(managed)
    made.insert_by_service(sample(20, 10))
    same(made.dataset.count_rows(), 20, "rows before")
    made.dataset.checkout_latest()
    same((made.dataset.version, made.dataset.count_rows()), (2, 30), "version and rows after")


def insert(managed):
    made = Made(managed)
    made.dataset.insert(sample(20, 10))
    made.same_everywhere(sample(0, 30))


def delete(managed):
    made = Made(managed)
    made.dataset.delete("id >= 10")
    made.same_everywhere(sample(0, 10))


def update(managed):
    made = Made(managed)
    made.dataset.update({"price": "99"}, where="id >= 15")
    made.same_everywhere(pa.concat_tables([sample(0, 15), sample(15, 5, price=99)]))


def merge_insert(managed):
    made = Made(managed)
    merge = made.dataset.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
    done = merge.execute(sample(15, 10, price=99))
    same((done["num_updated_rows"], done["num_inserted_rows"]), (5, 5), "updated and inserted rows")
    made.same_everywhere(pa.concat_tables([sample(0, 15), sample(15, 10, price=99)]))


def add_columns(managed):
    made = Made(managed)
    made.dataset.add_columns({"double": "price * 2"})
    made.same_everywhere(sample().append_column("double", pc.multiply(sample()["price"], 2.0)))


def alter_columns(managed):
    made = Made(managed)
    made.dataset.alter_columns({"path": "name", "name": "title"}, {"path": "id", "data_type": pa.int32()})
    found = query(made.name)
    same(found.column_names, ["id", "title", "price", "vector"], "columns")
    same(found.schema.field("id").type, pa.int32(), "type of id")


def drop_columns(managed):
    made = Made(managed)
    made.dataset.drop_columns(["price"])
    made.same_everywhere(sample().drop_columns(["price"]))


def commit(managed):
    made = Made(managed)
    fragments = lance.fragment.write_fragments(sample(20, 10), made.dataset.uri)
    operation = lance.LanceOperation.Append(fragments)
    through = {**made.at, "namespace_client_managed_versioning": True} if managed else {}
    done = lance.LanceDataset.commit(made.dataset.uri, operation, read_version=1, **through)
    same(done.version, 2, "version of the commit")
    made.same_everywhere(sample(0, 30))


def create_index(managed):
    made = Made(managed, sample(0, VECTORS))
    made.dataset.create_index("vector", "IVF_PQ", num_partitions=2, num_sub_vectors=2)
    made.dataset.create_scalar_index("id", "BTREE")
    made.dataset.create_scalar_index("name", "INVERTED")
    indexes = call("list_table_indices", made.name, models.ListTableIndicesRequest()).indexes
    seen = {each.index_name: each.index_type for each in indexes}
    same(seen, {"vector_idx": "IVF_PQ", "id_idx": "BTREE", "name_idx": "FTS"}, "indexes")
    words = models.StringFtsQuery(query="fox", columns=["name"])
    text = models.QueryTableRequestFullTextQuery(string_query=words)
    same(len(query(made.name, full_text_query=text)), VECTORS // 4, "rows of a text search by the service")
    vector = models.QueryTableRequestVector(single_vector=[7.0] * DIMENSION)
    found = query(made.name, vector=vector, k=5, nprobes=2, refine_factor=10)["id"].to_pylist()
    holds(7 in found, f"the search by the service finds {found}")
    request = models.CreateTableIndexRequest(column="price", index_type="BTREE")
    call("create_table_scalar_index", made.name, request)
    names = {each["name"] for each in made.open().list_indices()}
    holds("price_idx" in names, f"the dataset has the indexes {names}")


def tags(managed):
    made = Made(managed)
    made.dataset.insert(sample(20, 10))
    made.dataset.tags.create("first", 1)
    same(call("get_table_tag_version", made.name, models.GetTableTagVersionRequest(tag="first")).version, 1, "version")
    call("update_table_tag", made.name, models.UpdateTableTagRequest(tag="first", version=2))
    same(made.open().tags.list()["first"]["version"], 2, "version that the service has set")


def create_branch(managed):
    made = Made(managed)
    branch = made.dataset.create_branch("work")
    lance.write_dataset(sample(20, 10), branch, mode="append")
    same_rows(made.name, sample())
    same_rows(made.name, sample(0, 30), branch="work")
    insert_into_branch(made.name, "work", sample(30, 10))
    same(made.open().checkout_version(("work", None)).count_rows(), 40, "rows of the branch after the service wrote")


def restore(managed):
    made = Made(managed)
    made.dataset.insert(sample(20, 10))
    made.open(version=1).restore()
    made.same_everywhere(sample())
    versions = call("list_table_versions", made.name).versions
    same(sorted(each.version for each in versions), [1, 2, 3], "versions of the service")


def compact_files(managed):
    made = Made(managed)
    for number in range(1, 5):
        made.dataset.insert(sample(20 * number))
    done = made.dataset.optimize.compact_files()
    same(done.fragments_removed, 5, "fragments that were joined")
    made.same_everywhere(sample(0, 100))


def cleanup_old_versions(managed):
    made = Made(managed)
    made.dataset.insert(sample(20, 10))
    made.dataset.insert(sample(30, 10))
    removed = made.dataset.cleanup_old_versions(retain_versions=1)
    same(removed.old_versions, 2, "removed versions")
    made.same_everywhere(sample(0, 40))


def two_writers(managed):
    made = Made(managed, sample(0, 1))
    for number in range(1, 11, 2):
        made.open().insert(sample(number, 1))
        made.insert_by_service(sample(number + 1, 1))
    made.same_everywhere(sample(0, 11))
    stale = made.open()
    made.insert_by_service(sample(11, 1))
    # Appends do not conflict: the one behind is made again on the newest version.
    stale.insert(sample(12, 1))
    made.same_everywhere(sample(0, 13))


NAMES = {
    "lance.write_dataset": write_dataset,
    "lance.dataset": dataset,
    "LanceDataset.to_table": to_table,
    "LanceDataset.checkout_latest": checkout_latest,
    "LanceDataset.insert": insert,
    "LanceDataset.delete": delete,
    "LanceDataset.update": update,
    "LanceDataset.merge_insert": merge_insert,
    "LanceDataset.add_columns": add_columns,
    "LanceDataset.alter_columns": alter_columns,
    "LanceDataset.drop_columns": drop_columns,
    "LanceDataset.commit": commit,
    "LanceDataset.create_index": create_index,
    "LanceDataset.tags": tags,
    "LanceDataset.create_branch": create_branch,
    "LanceDataset.restore": restore,
    "LanceDataset.optimize.compact_files": compact_files,
    "LanceDataset.cleanup_old_versions": cleanup_old_versions,
    "LanceDataset.insert, next to the service": two_writers,
}


def named(name, managed):
    return f"{name}, managed versions" if managed else name


CHECKS = {
    named(name, managed): functools.partial(check, managed) for managed in (False, True) for name, check in NAMES.items()
}
