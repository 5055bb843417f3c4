"""Tags, branches and transactions."""

import lance_namespace_urllib3_client as client
from calls import all_pages, call, insert_into_branch, new_table, refused, same_rows
from outcomes import holds, same
from sample_rows import sample, to_stream


def two_versions():
    name = new_table("items")
    call("insert_into_table", name, to_stream(sample(20, 10)))
    return name


def tag(name, label, version):
    call("create_table_tag", name, client.CreateTableTagRequest(id=[name], tag=label, version=version))


def version_of(name, label):
    return call("get_table_tag_version", name, client.GetTableTagVersionRequest(tag=label)).version


def create_table_tag():
    name = two_versions()
    tag(name, "first", 1)
    same(version_of(name, "first"), 1, "version of the tag")
    refused(409, 9, "create_table_tag", name, client.CreateTableTagRequest(tag="first", version=2))
    refused(404, 11, "create_table_tag", name, client.CreateTableTagRequest(tag="other", version=99))


def list_table_tags():
    name = two_versions()
    for label, version in [("first", 1), ("second", 2), ("third", 2)]:
        tag(name, label, version)
    tags = call("list_table_tags", name).tags
    same({label: each.version for label, each in tags.items()}, {"first": 1, "second": 2, "third": 2}, "tags")
    holds(all(each.manifest_size > 0 for each in tags.values()), "a tag has no size")
    same(sorted(all_pages("list_table_tags", lambda page: page.tags, name)), sorted(tags), "tags in pages")


def get_table_tag_version():
    name = two_versions()
    tag(name, "second", 2)
    same(version_of(name, "second"), 2, "version of the tag")
    refused(404, 8, "get_table_tag_version", name, client.GetTableTagVersionRequest(tag="missing"))


def update_table_tag():
    name = two_versions()
    tag(name, "moving", 1)
    call("update_table_tag", name, client.UpdateTableTagRequest(tag="moving", version=2))
    same(version_of(name, "moving"), 2, "version of the tag")
    refused(404, 8, "update_table_tag", name, client.UpdateTableTagRequest(tag="missing", version=1))


def delete_table_tag():
    name = two_versions()
    tag(name, "old", 1)
    call("delete_table_tag", name, client.DeleteTableTagRequest(tag="old"))
    same(call("list_table_tags", name).tags, {}, "tags")
    refused(404, 8, "delete_table_tag", name, client.DeleteTableTagRequest(tag="old"))


def create_table_branch():
    name = two_versions()
    call("create_table_branch", name, client.CreateTableBranchRequest(id=[name], name="work", from_version=1))
    same_rows(name, sample(), branch="work")
    insert_into_branch(name, "work", sample(50, 5))
    call("create_table_branch", name, client.CreateTableBranchRequest(name="more", from_branch="work"))
    same(call("count_table_rows", name, client.CountTableRowsRequest(branch="more")), 25, "rows of the branch")
    same(call("count_table_rows", name, client.CountTableRowsRequest()), 30, "rows of main")
    refused(409, 23, "create_table_branch", name, client.CreateTableBranchRequest(name="work"))
    refused(404, 22, "create_table_branch", name, client.CreateTableBranchRequest(name="x", from_branch="missing"))


def list_table_branches():
    name = two_versions()
    for branch, version in [("one", 1), ("two", 2)]:
        call("create_table_branch", name, client.CreateTableBranchRequest(name=branch, from_version=version))
    branches = call("list_table_branches", name).branches
    same({branch: each.parent_version for branch, each in branches.items()}, {"one": 1, "two": 2}, "branches")
    holds(all(each.create_at > 0 and each.manifest_size > 0 for each in branches.values()), "a time or size is missing")
    same(sorted(all_pages("list_table_branches", lambda page: page.branches, name)), ["one", "two"], "in pages")


def delete_table_branch():
    name = two_versions()
    call("create_table_branch", name, client.CreateTableBranchRequest(name="work"))
    call("delete_table_branch", name, client.DeleteTableBranchRequest(name="work"))
    same(call("list_table_branches", name).branches, {}, "branches")
    refused(404, 22, "delete_table_branch", name, client.DeleteTableBranchRequest(name="work"))


def new_transaction():
    name = new_table("items")
    return call("update_table", name, client.UpdateTableRequest(updates=[["price", "1"]])).transaction_id


def describe_transaction():
    transaction = new_transaction()
    reply = call("describe_transaction", transaction, client.DescribeTransactionRequest(id=[transaction]))
    same((reply.status, reply.properties["version"]), ("Succeeded", "2"), "status and version")
    refused(404, 10, "describe_transaction", "missing", client.DescribeTransactionRequest())


def alter_transaction():
    transaction = new_transaction()
    done = client.AlterTransactionAction(set_status_action=client.AlterTransactionSetStatus(status="Succeeded"))
    reply = call("alter_transaction", transaction, client.AlterTransactionRequest(actions=[done]))
    same(reply.status, "Succeeded", "status")
    noted = client.AlterTransactionSetProperty(key="ticket", value="17")
    action = client.AlterTransactionAction(set_property_action=noted)
    reply = call("alter_transaction", transaction, client.AlterTransactionRequest(actions=[action]))
    same(reply.properties["ticket"], "17", "property")
    refused(404, 10, "alter_transaction", "missing", client.AlterTransactionRequest(actions=[done]))


CHECKS = {
    check.__name__: check
    for check in [
        create_table_tag, list_table_tags, get_table_tag_version, update_table_tag, delete_table_tag,
        create_table_branch, list_table_branches, delete_table_branch, describe_transaction, alter_transaction,
    ]
}  # fmt: skip
