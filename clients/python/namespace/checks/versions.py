"""Versions, and those that a client commits itself."""

import os
import uuid
from pathlib import Path

import lance_namespace_urllib3_client as client
from calls import Refused, all_pages, call, describe, new_name, new_table, refused, same_rows
from outcomes import Explained, Skipped, holds, same
from sample_rows import sample, to_stream

TOO_YOUNG = 19


def versions_of(table, **kwargs):
    return [each.version for each in call("list_table_versions", table, **kwargs).versions]


def with_versions(count):
    name = new_table("items")
    for number in range(1, count):
        call("insert_into_table", name, to_stream(sample(20 * number)))
    return name


def list_table_versions():
    name = with_versions(3)
    versions = call("list_table_versions", name).versions
    same(sorted(each.version for each in versions), [1, 2, 3], "versions")
    holds(all(each.manifest_path and each.manifest_size and each.timestamp_millis for each in versions), "a field is missing")
    same(versions_of(name, descending=True), [3, 2, 1], "versions, newest first")
    newest_first = all_pages("list_table_versions", lambda page: page.versions, name, descending=True)
    same([each.version for each in newest_first], [3, 2, 1], "versions in pages")
    call("create_table_branch", name, client.CreateTableBranchRequest(name="work", from_version=2))
    holds(3 not in versions_of(name, branch="work"), "the branch has a version of main")


def describe_table_version():
    name = with_versions(2)
    seen = call("describe_table_version", name, client.DescribeTableVersionRequest(id=[name], version=1)).version
    same((seen.version, bool(seen.manifest_path)), (1, True), "version and path")
    latest = call("describe_table_version", name, client.DescribeTableVersionRequest()).version
    same(latest.version, 2, "version when none is asked for")
    refused(404, 11, "describe_table_version", name, client.DescribeTableVersionRequest(version=99))


def batch_delete_table_versions():
    name = with_versions(4)
    ranges = [client.VersionRange(start_version=1, end_version=3)]
    try:
        reply = call("batch_delete_table_versions", name, client.BatchDeleteTableVersionsRequest(ranges=ranges))
    except Refused as refusal:
        if refusal.code != TOO_YOUNG or os.environ["TILTYARD_SERVICE"] == "one":
            raise
        raise Explained(str(refusal), "on an object store, readers may still need a version that is this young") from refusal
    same(reply.deleted_count, 2, "deleted versions")
    same(sorted(versions_of(name)), [3, 4], "versions that are left")
    same_rows(name, sample(0, 80))


def restore_table():
    name = with_versions(2)
    call("restore_table", name, client.RestoreTableRequest(id=[name], version=1))
    same_rows(name, sample())
    same(describe(name).version, 3, "version after the restore")
    refused(404, 11, "restore_table", name, client.RestoreTableRequest(version=99))


class Staged:
    """
    A table at version 1 with managed versions, and a manifest of version 2 that is not committed yet: the service has
    written it, and it was moved to where a client stages one.
    """

    def __init__(self):
        self.name = with_versions(2)
        self.metadata = {"author": "Zoë", "table": self.name}
        manifest = call("describe_table_version", self.name, client.DescribeTableVersionRequest(version=2)).version
        location = call("deregister_table", self.name, client.DeregisterTableRequest()).location
        if os.environ["TILTYARD_SERVICE"] != "one" or "://" in location.removeprefix("file://"):
            raise Skipped("it stages manifests on the disk of the server")
        final = Path("/", manifest.manifest_path)
        self.size = final.stat().st_size
        staged = final.with_name(f"{final.name}-{uuid.uuid4()}")
        final.rename(staged)
        self.path = str(staged).lstrip("/")
        properties = {"managed_versioning": "true"}
        call("register_table", self.name, client.RegisterTableRequest(location=location, properties=properties))

    def version_fields(self):
        return {
            "id": [self.name], "version": 2, "manifest_path": self.path, "manifest_size": self.size,
            "naming_scheme": "V2", "metadata": self.metadata,
        }  # fmt: skip

    def is_described(self, created):
        """The metadata are in the reply of the commit, and with the version from then on, next to the engine's own."""
        same(created.metadata, self.metadata, "metadata of the reply")
        request = client.DescribeTableVersionRequest(version=2)
        described = call("describe_table_version", self.name, request).version
        first, second = sorted(call("list_table_versions", self.name).versions, key=lambda each: each.version)
        for seen, what in [(described, "described"), (second, "listed")]:
            same({**(seen.metadata or {}), **self.metadata}, seen.metadata, f"metadata of the {what} version")
        holds("author" not in (first.metadata or {}), "version 1 has the metadata of version 2")


def create_table_version():
    # Where it is not offered, nothing needs to be staged.
    request = client.CreateTableVersionRequest(version=2, manifest_path="missing", naming_scheme="V2")
    try_first("create_table_version", new_table("items"), request)
    staged = Staged()
    same(describe(staged.name).managed_versioning, True, "managed_versioning")
    same_rows(staged.name, sample())
    request = client.CreateTableVersionRequest(**staged.version_fields())
    reply = call("create_table_version", staged.name, request)
    same((reply.version.version, reply.version.manifest_size), (2, staged.size), "version and size")
    holds(reply.version.manifest_path != staged.path, "the manifest is still at its staging path")
    same_rows(staged.name, sample(0, 40))
    staged.is_described(reply.version)
    refused(409, 14, "create_table_version", staged.name, request)


def batch_create_table_versions():
    entry = client.CreateTableVersionEntry(id=[new_table("items")], version=2, manifest_path="missing")
    try_first("batch_create_table_versions", client.BatchCreateTableVersionsRequest(entries=[entry]))
    several = [Staged(), Staged()]
    entries = [client.CreateTableVersionEntry(**each.version_fields()) for each in several]
    wrong = client.CreateTableVersionEntry(id=["missing"], version=2, manifest_path="missing")
    request = client.BatchCreateTableVersionsRequest(entries=[*entries, wrong])
    refused(404, 4, "batch_create_table_versions", request)
    for each in several:
        same_rows(each.name, sample())
    reply = call("batch_create_table_versions", client.BatchCreateTableVersionsRequest(entries=entries))
    same([each.version for each in reply.versions], [2, 2], "versions")
    for each, created in zip(several, reply.versions, strict=True):
        same_rows(each.name, sample(0, 40))
        each.is_described(created)


def batch_commit_tables():
    declared = client.CommitTableOperation(declare_table=client.DeclareTableRequest(id=[new_name("declared")]))
    kept = new_table("kept")
    gone = client.CommitTableOperation(deregister_table=client.DeregisterTableRequest(id=[kept]))
    wrong = client.CommitTableOperation(deregister_table=client.DeregisterTableRequest(id=["missing"]))
    try_first("batch_commit_tables", client.BatchCommitTablesRequest(operations=[wrong]))
    refused(404, 4, "batch_commit_tables", client.BatchCommitTablesRequest(operations=[gone, wrong]))
    call("table_exists", kept, client.TableExistsRequest())
    staged, trimmed = Staged(), with_versions(3)
    request = client.CreateTableVersionRequest(**staged.version_fields())
    made = client.CommitTableOperation(create_table_version=request)
    ranges = [client.VersionRange(start_version=1, end_version=2)]
    delete = client.BatchDeleteTableVersionsRequest(id=[trimmed], ranges=ranges)
    deleted = client.CommitTableOperation(delete_table_versions=delete)
    reply = call("batch_commit_tables", client.BatchCommitTablesRequest(operations=[declared, made, gone, deleted]))
    same(len(reply.results), 4, "results")
    holds(reply.results[0].declare_table.location, "the declared table has no location")
    same(reply.results[1].create_table_version.version.version, 2, "created version")
    staged.is_described(reply.results[1].create_table_version.version)
    holds(reply.results[2].deregister_table.location, "the deregistered table has no location")
    same_rows(staged.name, sample(0, 40))
    refused(404, 4, "table_exists", kept, client.TableExistsRequest())
    same(reply.results[3].delete_table_versions.deleted_count, 1, "deleted versions")
    same(sorted(versions_of(trimmed)), [2, 3], "versions that are left")


def try_first(name, *args):
    """Ends the check where the operation is not offered; other refusals are expected."""
    try:
        call(name, *args)
    except Refused:
        pass


CHECKS = {
    check.__name__: check
    for check in [
        list_table_versions, describe_table_version, batch_delete_table_versions, restore_table, create_table_version,
        batch_create_table_versions, batch_commit_tables,
    ]
}  # fmt: skip
