"""The REST namespace of `lance_namespace`, which pylance implements, with the arguments of the generated client."""

import inspect
import json

import lance_namespace
import lance_namespace_urllib3_client as models
from calls import DATABASE, KEY, URL, Refused
from outcomes import NotOffered, RefusedByClient

namespace = lance_namespace.connect(
    "rest", {"uri": URL, "header.x-api-key": KEY, "header.x-service-database": DATABASE}
)
ABSTRACT = lance_namespace.LanceNamespace
OPERATIONS = {
    name for name, _ in inspect.getmembers(ABSTRACT, inspect.isfunction) if not name.startswith("_")
} - {"namespace_id", "create_empty_table"}  # fmt: skip

WITH_BODY = {
    "create_table": models.CreateTableRequest,
    "insert_into_table": models.InsertIntoTableRequest,
    "merge_insert_into_table": models.MergeInsertIntoTableRequest,
}
WITHOUT_MODEL = {
    "list_namespaces": models.ListNamespacesRequest,
    "list_tables": models.ListTablesRequest,
    "list_all_tables": models.ListTablesRequest,
    "list_table_versions": models.ListTableVersionsRequest,
    "list_table_tags": models.ListTableTagsRequest,
    "list_table_branches": models.ListTableBranchesRequest,
    "drop_table": models.DropTableRequest,
    "drop_table_index": models.DropTableIndexRequest,
}
AS_DICT = {"create_table_version", "describe_table_version", "batch_delete_table_versions"}


def call(name, *args, **kwargs):
    method = getattr(namespace, name)
    if getattr(type(namespace), name) is getattr(ABSTRACT, name):
        raise RefusedByClient(f"this release of pylance does not implement {name}")
    try:
        return to_reply(name, method(*to_request(name, *args, **kwargs)))
    except lance_namespace.UnsupportedOperationError as error:
        raise NotOffered(str(error)) from error
    except lance_namespace.LanceNamespaceError as error:
        raise Refused(None, int(error.code), str(error)) from error


def to_request(name, *args, **kwargs):
    if name in WITH_BODY:
        table, *on, body = args
        texts = {key: json.loads(kwargs.pop(key)) for key in ("properties", "storage_options") if key in kwargs}
        key = {"on": to_key(*on)} if on else {}
        return WITH_BODY[name](id=to_path(table), **key, **texts, **kwargs), body
    path = {"id": to_path(args[0])} if args else {}
    if name in WITHOUT_MODEL:
        index = {"index_name": args[1]} if name == "drop_table_index" else {}
        return (WITHOUT_MODEL[name](**path, **index, **kwargs),)
    if name == "update_table_schema_metadata":
        return (models.UpdateTableSchemaMetadataRequest(**path, metadata=args[1], **kwargs),)
    request = kwargs.pop("refresh_materialized_view_request", None) or args[-1]
    fields = {**path, **kwargs}
    if name == "describe_table_index_stats":
        fields["index_name"] = args[1]
    request = request.model_copy(update={**fields, **({"id": request.id} if request.id else {})})
    return (request.model_dump(exclude_none=True) if name in AS_DICT else request,)


def to_key(columns):
    """A list of columns in newer releases; one text before."""
    takes_list = "List" in str(models.MergeInsertIntoTableRequest.model_fields["on"].annotation)
    if not takes_list and len(columns) > 1:
        raise RefusedByClient("this release has keys of one column only")
    return columns if takes_list else columns[0]


def to_path(text):
    return [] if text == "$" else text.split("$")


REPLIES = {
    "create_table_version": models.CreateTableVersionResponse,
    "describe_table_version": models.DescribeTableVersionResponse,
    "batch_delete_table_versions": models.BatchDeleteTableVersionsResponse,
}


def to_reply(name, reply):
    """What the generated client returns for the same operation."""
    if name == "query_table":
        return getattr(reply, "data", reply)
    if name == "count_table_rows":
        return getattr(reply, "count", reply)
    if name == "update_table_schema_metadata":
        return reply.metadata
    if isinstance(reply, dict) and name in REPLIES:
        return REPLIES[name].from_dict(reply)
    return reply
