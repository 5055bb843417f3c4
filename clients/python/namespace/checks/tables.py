"""Namespaces, and what happens to whole tables."""

import json

import lance_namespace_urllib3_client as client
from calls import all_pages, call, describe, new_name, new_table, query, refused, same_rows
from outcomes import holds, same
from sample_rows import sample, to_stream


def new_namespace(**fields):
    name = new_name("space")
    call("create_namespace", name, client.CreateNamespaceRequest(**fields))
    return name


def create_namespace():
    name = new_name("space")
    request = client.CreateNamespaceRequest(id=[name], mode="Create", properties={"team": "search"})
    same(call("create_namespace", name, request).properties, {"team": "search"}, "properties of the reply")
    refused(409, 2, "create_namespace", name, request)
    kept = call("create_namespace", name, client.CreateNamespaceRequest(mode="ExistOk", properties={"team": "other"}))
    same(kept.properties, {"team": "search"}, "properties of one that exists")
    call("create_namespace", f"{name}$inner", client.CreateNamespaceRequest(id=[name, "inner"]))
    same(call("list_namespaces", name).namespaces, ["inner"], "its namespaces")
    refused(404, 1, "create_namespace", "missing$inner", client.CreateNamespaceRequest())


def list_namespaces():
    name = new_namespace()
    inner = ["a", "b", "c"]
    for each in inner:
        call("create_namespace", f"{name}${each}", client.CreateNamespaceRequest())
    same(sorted(call("list_namespaces", name).namespaces), inner, "namespaces")
    same(sorted(all_pages("list_namespaces", lambda page: page.namespaces, name)), inner, "namespaces in pages")
    holds(name in call("list_namespaces", "$").namespaces, "the root does not list it")
    refused(404, 1, "list_namespaces", "missing")


def describe_namespace():
    name = new_namespace(properties={"team": "search"})
    reply = call("describe_namespace", name, client.DescribeNamespaceRequest(id=[name]))
    same(reply.properties, {"team": "search"}, "properties")
    refused(404, 1, "describe_namespace", "missing", client.DescribeNamespaceRequest())


def drop_namespace():
    name = new_namespace(properties={"team": "search"})
    call("create_table", f"{name}$items", to_stream(sample()))
    refused(409, 3, "drop_namespace", name, client.DropNamespaceRequest(behavior="Restrict"))
    call("drop_namespace", name, client.DropNamespaceRequest(id=[name], mode="Fail", behavior="Cascade"))
    refused(404, 1, "namespace_exists", name, client.NamespaceExistsRequest())
    refused(404, 1, "drop_namespace", name, client.DropNamespaceRequest(mode="Fail"))
    call("drop_namespace", name, client.DropNamespaceRequest(mode="Skip"))


def namespace_exists():
    name = new_namespace()
    call("namespace_exists", name, client.NamespaceExistsRequest(id=[name]))
    refused(404, 1, "namespace_exists", "missing", client.NamespaceExistsRequest())


def list_tables():
    name = new_namespace()
    for each in ["a", "b"]:
        call("create_table", f"{name}${each}", to_stream(sample()))
    call("declare_table", f"{name}$c", client.DeclareTableRequest())
    same(sorted(call("list_tables", name).tables), ["a", "b", "c"], "tables")
    same(sorted(call("list_tables", name, include_declared=False).tables), ["a", "b"], "tables with data")
    same(sorted(all_pages("list_tables", lambda page: page.tables, name)), ["a", "b", "c"], "tables in pages")
    refused(404, 1, "list_tables", "missing")


def list_all_tables():
    name = new_namespace()
    call("create_table", f"{name}$items", to_stream(sample()))
    root = new_table("items")
    tables = call("list_all_tables").tables
    holds({f"{name}$items", root} <= set(tables), f"not all tables are in {tables}")
    same(sorted(all_pages("list_all_tables", lambda page: page.tables)), sorted(tables), "tables in pages")


def create_table():
    name = new_name("items")
    reply = call("create_table", name, to_stream(sample()), mode="Create", properties=json.dumps({"owner": "ada"}))
    same((reply.version, reply.properties), (1, {"owner": "ada"}), "version and properties")
    holds(reply.location, "there is no location")
    same_rows(name, sample())
    refused(409, 5, "create_table", name, to_stream(sample()))
    call("create_table", name, to_stream(sample(count=1)), mode="ExistOk")
    same_rows(name, sample())
    call("create_table", name, to_stream(sample(count=3)), mode="Overwrite")
    same_rows(name, sample(count=3))
    empty = new_table("empty", sample(count=0))
    same(query(empty).schema.remove_metadata(), sample().schema, "schema of an empty table")


def declare_table():
    name = new_name("declared")
    reply = call("declare_table", name, client.DeclareTableRequest(id=[name], properties={"owner": "ada"}))
    holds(reply.location, "there is no location")
    same(reply.properties, {"owner": "ada"}, "properties")
    refused(409, 5, "declare_table", name, client.DeclareTableRequest())
    described = call("describe_table", name, client.DescribeTableRequest(check_declared=True))
    same((described.location, described.version), (reply.location, None), "location and version")
    same(described.is_only_declared, True, "is_only_declared")
    call("insert_into_table", name, to_stream(sample()))
    same_rows(name, sample())


def register_table():
    name, again = new_table("kept"), new_name("again")
    location = call("deregister_table", name, client.DeregisterTableRequest()).location
    request = client.RegisterTableRequest(id=[again], location=location, properties={"owner": "ada"})
    reply = call("register_table", again, request)
    same((reply.location, reply.properties), (location, {"owner": "ada"}), "location and properties")
    same_rows(again, sample())
    refused(409, 5, "register_table", again, request)


def deregister_table():
    name = new_table("kept", properties=json.dumps({"owner": "ada"}))
    reply = call("deregister_table", name, client.DeregisterTableRequest(id=[name]))
    same((reply.id, reply.properties), ([name], {"owner": "ada"}), "id and properties")
    holds(reply.location, "there is no location")
    refused(404, 4, "table_exists", name, client.TableExistsRequest())
    refused(404, 4, "deregister_table", name, client.DeregisterTableRequest())


def describe_table():
    space = new_namespace()
    name = f"{space}$items"
    call("create_table", name, to_stream(sample()), properties=json.dumps({"owner": "ada"}))
    call("update_table_schema_metadata", name, {"source": "shop"})
    call("create_table_tag", name, client.CreateTableTagRequest(tag="first", version=1))
    plain = call("describe_table", name, client.DescribeTableRequest(id=[space, "items"]))
    holds(plain.location, "there is no location")
    request = client.DescribeTableRequest(with_table_uri=True, load_detailed_metadata=True, check_declared=True)
    reply = call("describe_table", name, request)
    same((reply.table, reply.namespace, reply.version), ("items", [space], 2), "table, namespace and version")
    holds(reply.location == plain.location and reply.table_uri, "there is no location or no table_uri")
    same((reply.properties, reply.metadata), ({"owner": "ada"}, {"source": "shop"}), "properties and metadata")
    same(reply.is_only_declared, False, "is_only_declared")
    same((reply.stats.num_fragments, reply.stats.num_deleted_rows), (1, 0), "stats")
    types = [(field.name, field.type.type, field.nullable) for field in reply.var_schema.fields]
    wanted = [("id", "int64"), ("name", "utf8"), ("price", "float64"), ("vector", "fixed_size_list")]
    same(types, [(*each, True) for each in wanted], "schema")
    vector = reply.var_schema.fields[3].type
    same((vector.length, vector.fields[0].type.type), (4, "float32"), "type of the vector")
    same(describe(name, version=1).version, 1, "version asked for")
    if "tag" in client.DescribeTableRequest.model_fields:
        same(describe(name, tag="first").version, 1, "version of the tag")
    refused(404, 4, "describe_table", "missing", client.DescribeTableRequest())
    refused(404, 11, "describe_table", name, client.DescribeTableRequest(version=99))


def table_exists():
    name = new_table("items")
    call("table_exists", name, client.TableExistsRequest(id=[name]))
    call("table_exists", name, client.TableExistsRequest(version=1))
    refused(404, 11, "table_exists", name, client.TableExistsRequest(version=99))
    refused(404, 4, "table_exists", "missing", client.TableExistsRequest())


def drop_table():
    name = new_table("items", properties=json.dumps({"owner": "ada"}))
    reply = call("drop_table", name)
    same((reply.id, reply.properties), ([name], {"owner": "ada"}), "id and properties")
    holds(reply.location, "there is no location")
    refused(404, 4, "table_exists", name, client.TableExistsRequest())
    refused(404, 4, "drop_table", name)


def rename_table():
    name, other, space = new_table("items"), new_name("renamed"), new_namespace()
    call("rename_table", name, client.RenameTableRequest(id=[name], new_table_name=other))
    refused(404, 4, "table_exists", name, client.TableExistsRequest())
    same_rows(other, sample())
    call("rename_table", other, client.RenameTableRequest(new_table_name="moved", new_namespace_id=[space]))
    same_rows(f"{space}$moved", sample())
    taken = new_table("items")
    refused(
        409, 5, "rename_table", taken, client.RenameTableRequest(new_table_name="moved", new_namespace_id=[space])
    )


def get_table_stats():
    name = new_table("items")
    call("insert_into_table", name, to_stream(sample(20, 10)))
    call("create_table_scalar_index", name, client.CreateTableIndexRequest(column="id", index_type="BTREE"))
    reply = call("get_table_stats", name, client.GetTableStatsRequest(id=[name]))
    same((reply.num_rows, reply.num_indices), (30, 1), "rows and indexes")
    holds(reply.total_bytes > 0, "there are no bytes")
    lengths = reply.fragment_stats.lengths
    same((reply.fragment_stats.num_fragments, lengths.min, lengths.max), (2, 10, 20), "fragments")
    refused(404, 4, "get_table_stats", "missing", client.GetTableStatsRequest())


CHECKS = {
    check.__name__: check
    for check in [
        create_namespace, list_namespaces, describe_namespace, drop_namespace, namespace_exists, list_tables,
        list_all_tables, create_table, declare_table, register_table, deregister_table, describe_table, table_exists,
        drop_table, rename_table, get_table_stats,
    ]
}  # fmt: skip
