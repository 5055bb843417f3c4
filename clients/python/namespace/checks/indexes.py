"""Indexes."""

import lance_namespace_urllib3_client as client
from calls import call, new_table, query, refused
from outcomes import holds, same
from sample_rows import DIMENSION, sample

ROWS = 300


def index_of(table, name):
    indexes = call("list_table_indices", table, client.ListTableIndicesRequest()).indexes
    return next((each for each in indexes if each.index_name == name), None)


def create_table_index():
    name = new_table("items", sample(0, ROWS))
    parameters = {"num_partitions": 2, "num_sub_vectors": 2, "num_bits": 8, "max_iterations": 10, "sample_rate": 2}
    known = client.CreateTableIndexRequest.model_fields
    usable = {key: value for key, value in parameters.items() if key in known}
    request = client.CreateTableIndexRequest(
        column="vector", index_type="IVF_PQ", name="by_vector", distance_type="l2", **usable
    )
    call("create_table_index", name, request)
    seen = index_of(name, "by_vector")
    same((seen.columns, seen.index_type), (["vector"], "IVF_PQ"), "columns and type")
    near = client.QueryTableRequestVector(single_vector=[7.0] * DIMENSION)
    found = query(name, vector=near, k=5, nprobes=2, refine_factor=10)
    holds(7 in found["id"].to_pylist(), f"the indexed search finds {found['id'].to_pylist()}")
    text = client.CreateTableIndexRequest(column="name", index_type="FTS", with_position=True, language="English")
    call("create_table_index", name, text)
    words = client.StringFtsQuery(query="red fox", columns=["name"])
    found = query(name, full_text_query=client.QueryTableRequestFullTextQuery(string_query=words))
    same(len(found), ROWS // 4, "rows of a text search")
    refused(
        404, 12, "create_table_index", name, client.CreateTableIndexRequest(column="missing", index_type="BTREE")
    )


def create_table_scalar_index():
    name = new_table("items")
    for column, kind in [("id", "BTREE"), ("name", "BITMAP")]:
        request = client.CreateTableIndexRequest(column=column, index_type=kind)
        call("create_table_scalar_index", name, request)
        seen = index_of(name, f"{column}_idx")
        same((seen.columns, seen.index_type), ([column], kind), "columns and type")
    same(query(name, filter="id = 4")["id"].to_pylist(), [4], "ids by the index")


def list_table_indices():
    name = new_table("items")
    same(call("list_table_indices", name, client.ListTableIndicesRequest(id=[name])).indexes, [], "indexes")
    for column in ["id", "name", "price"]:
        call("create_table_scalar_index", name, client.CreateTableIndexRequest(column=column, index_type="BTREE"))
    indexes = call("list_table_indices", name, client.ListTableIndicesRequest()).indexes
    same(sorted(each.index_name for each in indexes), ["id_idx", "name_idx", "price_idx"], "names")
    holds(all(each.index_uuid and each.status for each in indexes), "an index has no uuid or no status")
    same({each.num_indexed_rows for each in indexes}, {20}, "indexed rows")
    found, token = [], None
    for _ in range(3):
        page = call("list_table_indices", name, client.ListTableIndicesRequest(limit=1, page_token=token))
        found.extend(each.index_name for each in page.indexes)
        token = page.page_token
    same((sorted(found), token or None), (["id_idx", "name_idx", "price_idx"], None), "names in pages")


def describe_table_index_stats():
    name = new_table("items", sample(0, ROWS))
    request = client.CreateTableIndexRequest(column="vector", index_type="IVF_FLAT", distance_type="cosine")
    call("create_table_index", name, request)
    asked = client.DescribeTableIndexStatsRequest(id=[name], index_name="vector_idx")
    reply = call("describe_table_index_stats", name, "vector_idx", asked)
    same((reply.index_type, reply.distance_type), ("IVF_FLAT", "cosine"), "type and distance")
    same((reply.num_indexed_rows, reply.num_unindexed_rows), (ROWS, 0), "rows")
    refused(404, 6, "describe_table_index_stats", name, "missing", client.DescribeTableIndexStatsRequest())


def drop_table_index():
    name = new_table("items")
    call("create_table_scalar_index", name, client.CreateTableIndexRequest(column="id", index_type="BTREE"))
    call("drop_table_index", name, "id_idx")
    same(index_of(name, "id_idx"), None, "the dropped index")
    refused(404, 6, "drop_table_index", name, "id_idx")


CHECKS = {
    check.__name__: check
    for check in [
        create_table_index, create_table_scalar_index, list_table_indices, describe_table_index_stats, drop_table_index,
    ]
}  # fmt: skip
