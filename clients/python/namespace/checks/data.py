"""Rows and columns."""

import base64
import time

import pyarrow as pa
import pyarrow.compute as pc

import lance_namespace_urllib3_client as client
from calls import call, describe, insert_into_branch, new_name, new_table, query, refused, same_rows
from outcomes import Differs, RefusedByClient, holds, same
from sample_rows import DIMENSION, rows_of, sample, to_stream

NEAR_SEVEN = client.QueryTableRequestVector(single_vector=[7.0] * DIMENSION)
JOB_SECONDS = 60


def ids(table):
    return table["id"].to_pylist()


def insert_into_table():
    name = new_table("items")
    reply = call("insert_into_table", name, to_stream(sample(20, 10)))
    # Earlier releases have no model for these.
    same(getattr(reply, "num_inserted_rows", 10), 10, "inserted rows")
    same(getattr(reply, "version", 2), 2, "version")
    same_rows(name, sample(0, 30))
    call("insert_into_table", name, to_stream(sample(5, 5)), mode="Overwrite")
    same_rows(name, sample(5, 5))
    call("create_table_branch", name, client.CreateTableBranchRequest(name="work"))
    insert_into_branch(name, "work", sample(10, 5))
    same_rows(name, sample(5, 5))
    same_rows(name, sample(5, 10), branch="work")
    refused(404, 4, "insert_into_table", "missing", to_stream(sample()))


def merge_insert_into_table():
    name = new_table("items")
    body = to_stream(sample(15, 10, price=99))
    reply = call(
        "merge_insert_into_table", name, ["id"], body, when_matched_update_all=True,
        when_not_matched_insert_all=True, timeout="30s",
    )  # fmt: skip
    counts = (reply.num_updated_rows, reply.num_inserted_rows, reply.num_deleted_rows)
    same(counts, (5, 5, 0), "updated, inserted and deleted rows")
    same_rows(name, pa.concat_tables([sample(0, 15), sample(15, 10, price=99)]))
    reply = call(
        "merge_insert_into_table", name, ["id"], to_stream(sample(0, 2)), when_matched_update_all=True,
        when_matched_update_all_filt="target.id > 100", when_not_matched_by_source_delete=True,
        when_not_matched_by_source_delete_filt="id >= 15", use_index=False,
    )  # fmt: skip
    same((reply.num_updated_rows, reply.num_deleted_rows), (0, 10), "updated and deleted rows")
    same_rows(name, sample(0, 15))
    other = sample(0, 1).set_column(1, "name", pa.array(["no such name"]))
    try:
        reply = call(
            "merge_insert_into_table", name, ["id", "name"], to_stream(other), when_not_matched_insert_all=True
        )
        same(reply.num_inserted_rows, 1, "inserted rows of a key of two columns")
    except RefusedByClient:
        pass


def update_table():
    name = new_table("items")
    request = client.UpdateTableRequest(updates=[["price", "price + 1"], ["name", "upper(name)"]], predicate="id < 5")
    reply = call("update_table", name, request)
    same((reply.updated_rows, reply.version), (5, 2), "updated rows and version")
    holds(reply.transaction_id, "there is no transaction id")
    wanted = [
        {**row, "price": row["price"] + 1, "name": row["name"].upper()} if row["id"] < 5 else row
        for row in rows_of(sample())
    ]
    same(rows_of(query(name)), wanted, "rows")
    refused(404, 12, "update_table", name, client.UpdateTableRequest(updates=[["missing", "1"]]))


def delete_from_table():
    name = new_table("items")
    reply = call("delete_from_table", name, client.DeleteFromTableRequest(id=[name], predicate="id >= 10"))
    same(reply.version, 2, "version")
    same_rows(name, sample(0, 10))
    refused(400, 13, "delete_from_table", name, client.DeleteFromTableRequest(predicate="id >="))


def query_table():
    name = new_table("items")
    holds(query(name).schema.remove_metadata().equals(sample().schema), "the schema is another one")
    same_rows(name, sample())
    same(ids(query(name, filter="id > 3 AND price < 6")), [4, 5], "filtered ids")
    same(len(query(name, k=3, offset=18)), 2, "rows behind an offset")
    found = query(name, vector=NEAR_SEVEN, k=3)
    same(ids(found), [7, 6, 8], "nearest ids")
    same(found["_distance"].to_pylist(), [0.0, 4.0, 4.0], "distances")
    columns = client.QueryTableRequestColumns(column_names=["id"])
    several = client.QueryTableRequestVector(multi_vector=[[1.0] * DIMENSION, [9.0] * DIMENSION])
    found = query(name, vector=several, k=2, columns=columns)
    by_query = {index: sorted(row["id"] for row in found.to_pylist() if row["query_index"] == index) for index in (0, 1)}
    holds(1 in by_query[0] and 9 in by_query[1], f"two vectors find {by_query}")
    aliases = client.QueryTableRequestColumns(column_aliases={"double": "price * 2"})
    same(query(name, columns=aliases, filter="id = 4").to_pylist(), [{"double": 8.0}], "computed column")
    holds("_rowid" in query(name, k=1, with_row_id=True).column_names, "there is no _rowid")
    found = query(name, vector=NEAR_SEVEN, k=2, filter="id > 10", prefilter=True, distance_type="cosine")
    same(len(found), 2, "rows of a search with a filter")
    near = query(name, vector=NEAR_SEVEN, k=10, lower_bound=1.0, upper_bound=20.0, bypass_vector_index=True)
    same(sorted(ids(near)), [5, 6, 8, 9], "ids within bounds")
    full_text(name)
    call("delete_from_table", name, client.DeleteFromTableRequest(predicate="true"))
    same(len(query(name)), 0, "rows after a delete")
    same_rows(name, sample(), version=1)
    refused(404, 4, "query_table", "missing", client.QueryTableRequest(k=1, vector=client.QueryTableRequestVector()))


def full_text(name):
    call("create_table_index", name, client.CreateTableIndexRequest(column="name", index_type="FTS"))
    foxes = [0, 4, 8, 12, 16]
    words = client.StringFtsQuery(query="fox", columns=["name"])
    text = client.QueryTableRequestFullTextQuery(string_query=words)
    same(sorted(ids(query(name, full_text_query=text))), foxes, "ids of a text search")
    must, must_not = ([client.FtsQuery(match=client.MatchQuery(terms=word, column="name"))] for word in ("red", "blue"))
    tree = client.FtsQuery(boolean=client.BooleanQuery(must=must, must_not=must_not, should=[]))
    structured = client.QueryTableRequestFullTextQuery(structured_query=client.StructuredFtsQuery(query=tree))
    same(sorted(ids(query(name, full_text_query=structured))), foxes, "ids of a structured text search")
    both = query(name, full_text_query=text, vector=NEAR_SEVEN, k=4)
    holds({"_distance", "_score"} <= set(both.column_names), f"a hybrid search has {both.column_names}")


def count_table_rows():
    name = new_table("items")
    same(call("count_table_rows", name, client.CountTableRowsRequest(id=[name])), 20, "rows")
    same(call("count_table_rows", name, client.CountTableRowsRequest(predicate="id < 7")), 7, "rows of a predicate")
    call("delete_from_table", name, client.DeleteFromTableRequest(predicate="id < 7"))
    same(call("count_table_rows", name, client.CountTableRowsRequest(version=1)), 20, "rows of a version")


def explain_table_query_plan():
    name = new_table("items")
    inner = client.QueryTableRequest(k=3, vector=NEAR_SEVEN, filter="id > 1")
    reply = call("explain_table_query_plan", name, client.ExplainTableQueryPlanRequest(query=inner, verbose=True))
    holds("KNN" in reply and "\n" in reply, f"no plan of a vector search: {reply}")
    scan = client.QueryTableRequest(k=3, vector=client.QueryTableRequestVector())
    reply = call("explain_table_query_plan", name, client.ExplainTableQueryPlanRequest(query=scan))
    holds("LanceRead" in reply and "KNN" not in reply, f"no plan of a scan: {reply}")


def analyze_table_query_plan():
    name = new_table("items")
    reply = call("analyze_table_query_plan", name, client.AnalyzeTableQueryPlanRequest(k=3, vector=NEAR_SEVEN))
    holds("KNN" in reply and "metrics" in reply, f"no analysis of a vector search: {reply}")
    scan = client.AnalyzeTableQueryPlanRequest(k=3, vector=client.QueryTableRequestVector())
    reply = call("analyze_table_query_plan", name, scan)
    holds("LanceRead" in reply and "KNN" not in reply, f"no analysis of a scan: {reply}")


def alter_table_add_columns():
    name = new_table("items")
    columns = [client.AddColumnsEntry(name="double", expression="price * 2")]
    reply = call("alter_table_add_columns", name, client.AlterTableAddColumnsRequest(new_columns=columns))
    same(reply.version, describe(name).version, "version")
    wanted = sample().append_column("double", pc.multiply(sample()["price"], 2.0))
    same_rows(name, wanted)
    refused(400, 13, "alter_table_add_columns", name, client.AlterTableAddColumnsRequest(new_columns=columns))


def alter_table_alter_columns():
    name = new_table("items")
    changes = [
        client.AlterColumnsEntry(path="name", rename="title"),
        client.AlterColumnsEntry(path="id", data_type={"type": "int32"}),
    ]
    reply = call("alter_table_alter_columns", name, client.AlterTableAlterColumnsRequest(alterations=changes))
    same(reply.version, describe(name).version, "version")
    found = query(name)
    same(found.column_names, ["id", "title", "price", "vector"], "columns")
    same((found.schema.field("id").type, ids(found)), (pa.int32(), list(range(20))), "type and values of id")
    missing = [client.AlterColumnsEntry(path="missing", rename="x")]
    refused(404, 12, "alter_table_alter_columns", name, client.AlterTableAlterColumnsRequest(alterations=missing))


def alter_table_drop_columns():
    name = new_table("items")
    reply = call("alter_table_drop_columns", name, client.AlterTableDropColumnsRequest(columns=["price"]))
    same(reply.version, 2, "version")
    same_rows(name, sample().drop_columns(["price"]))
    refused(404, 12, "alter_table_drop_columns", name, client.AlterTableDropColumnsRequest(columns=["price"]))


def update_table_schema_metadata():
    name = new_table("items")
    for metadata in [{"source": "shop"}, {"source": "shop", "unit": "EUR"}, {"unit": "USD"}]:
        same(call("update_table_schema_metadata", name, metadata), metadata, "metadata of the reply")
        same(describe(name).metadata, metadata, "metadata of the table")


def update_field_metadata():
    name = new_table("items")
    entry = client.UpdateFieldMetadataEntry(path="price", metadata={"unit": "EUR", "kind": "net"})
    reply = call("update_field_metadata", name, client.UpdateFieldMetadataRequest(updates=[entry]))
    same((reply.version, reply.fields), (2, {"price": {"unit": "EUR", "kind": "net"}}), "version and fields")
    entry = client.UpdateFieldMetadataEntry(path="price", metadata={"unit": None, "tax": "19"})
    reply = call("update_field_metadata", name, client.UpdateFieldMetadataRequest(updates=[entry]))
    same(reply.fields, {"price": {"kind": "net", "tax": "19"}}, "fields after a merge")
    entry = client.UpdateFieldMetadataEntry(path="price", metadata={"a": "b"}, replace=True)
    call("update_field_metadata", name, client.UpdateFieldMetadataRequest(updates=[entry]))
    same(describe(name).var_schema.fields[2].metadata, {"a": "b"}, "metadata of the schema")


def alter_table_backfill_columns():
    name = new_table("items")
    if "computed" not in client.AddColumnsEntry.model_fields:
        request = client.AlterTableBackfillColumnsRequest(column="price")
        refused(400, 13, "alter_table_backfill_columns", name, request)
        return
    columns = [client.AddColumnsEntry(name="double", computed="price * 2")]
    call("alter_table_add_columns", name, client.AlterTableAddColumnsRequest(new_columns=columns))
    same(query(name)["double"].to_pylist(), [None] * 20, "values before the backfill")
    reply = call("alter_table_backfill_columns", name, client.AlterTableBackfillColumnsRequest(column="double"))
    holds(reply.job_id, "there is no job")
    wanted = [price * 2 for price in sample()["price"].to_pylist()]
    wait_for(lambda: sorted(query(name)["double"].to_pylist(), key=str) == sorted(wanted, key=str), "the backfill")
    refused(
        404, 12, "alter_table_backfill_columns", name, client.AlterTableBackfillColumnsRequest(column="missing")
    )


def view_request(source, **fields):
    output = base64.b64encode(sample().select(["id", "price"]).schema.serialize().to_pybytes()).decode()
    text = f"SELECT id, price FROM {source} WHERE id >= 5"
    return client.CreateMaterializedViewRequest(kind="query", source_query=text, output_schema=output, **fields)


def create_materialized_view():
    source, view = new_table("items"), new_name("view")
    reply = call("create_materialized_view", view, view_request(source, with_no_data=False))
    holds(reply.version >= 1 and reply.job_id, f"no version or no job: {reply}")
    wanted = sample(5, 15).select(["id", "price"])
    wait_for(lambda: rows_of(query(view)) == rows_of(wanted), "the first refresh")
    refused(409, 5, "create_materialized_view", view, view_request(source))


def refresh_materialized_view():
    source, view = new_table("items"), new_name("view")
    call("create_materialized_view", view, view_request(source))
    same(len(query(view)), 0, "rows before the first refresh")
    call("insert_into_table", source, to_stream(sample(20, 5)))
    request = client.RefreshMaterializedViewRequest(id=[view])
    reply = call("refresh_materialized_view", view, refresh_materialized_view_request=request)
    holds(reply.job_id, "there is no job")
    wanted = sample(5, 20).select(["id", "price"])
    wait_for(lambda: rows_of(query(view)) == rows_of(wanted), "the refresh")


def wait_for(is_done, what):
    end = time.monotonic() + JOB_SECONDS
    while not is_done():
        if time.monotonic() > end:
            raise Differs(f"{what} does not end within {JOB_SECONDS} seconds")
        time.sleep(0.2)


CHECKS = {
    check.__name__: check
    for check in [
        insert_into_table, merge_insert_into_table, update_table, delete_from_table, query_table, count_table_rows,
        explain_table_query_plan, analyze_table_query_plan, alter_table_add_columns, alter_table_alter_columns,
        alter_table_drop_columns, update_table_schema_metadata, update_field_metadata, alter_table_backfill_columns,
        create_materialized_view, refresh_materialized_view,
    ]
}  # fmt: skip
