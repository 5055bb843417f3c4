"""Methods of tables, of both interfaces, and what tables lead to: merges, tags, branches, indexes."""

import inspect
from datetime import timedelta

import pandas as pd
import polars as pl
import pyarrow as pa
from lancedb import index as indexes

from connection_checks import ITEMS, Item, batches, index_job
from harness import NOT_OFFERED, REFUSED, by_id, check, done, plain, value
from rows import SCHEMA, make_rows, make_table, vector_of
from tables import read_rows


def both(method):
    return f"RemoteTable.{method}", f"AsyncTable.{method}"


async def make(place, count=20, suffix="t"):
    return await done(place.connection.create_table(place.name(suffix), make_table(count)))


async def row_ids(table):
    query = table.query().with_row_id() if hasattr(table, "query") else table.search().with_row_id(True)
    return (await done(query.limit(20).to_arrow()))["_rowid"].to_pylist()


async def all_rows(table):
    return by_id(await read_rows(table))


ADDED = {
    "list of dicts": lambda: make_rows(5, 20),
    "pyarrow table": lambda: make_table(5, 20),
    "pyarrow batch": lambda: make_table(5, 20).to_batches()[0],
    "batches of an iterator": lambda: (batch for batch in make_table(5, 20).to_batches()),
    "pandas": lambda: pd.DataFrame(make_rows(5, 20)),
    "polars": lambda: pl.DataFrame(make_rows(5, 20)),
    "some columns": lambda: [{"id": 50, "text": "only these"}],
    "other numbers": lambda: pa.table({"id": pa.array([60], pa.int32()), "price": pa.array([1.5], pa.float32())}),
}


def register_added(title, data):
    @check(*both(f"add ({title})"))
    async def add(place):
        table = await make(place)
        await done(table.add(data()))
        return await all_rows(table)


for title, data in ADDED.items():
    register_added(title, data)


@check(*both("add"))
async def add(place):
    table = await make(place)
    result = await done(table.add(make_table(5, 20)))
    over = await done(table.add(make_table(3), mode="overwrite"))
    return [result.version, over.version, await value(table.version), await all_rows(table)]


@check(*both("add (pydantic)"))
async def add_pydantic(place):
    table = await done(place.connection.create_table(place.name(), schema=Item))
    await done(table.add(ITEMS))
    return await all_rows(table)


@check(*both("add (bad vectors)"))
async def add_bad_vectors(place):
    table = await make(place)
    rows = [{**make_rows(1, 30)[0], "vector": [1.0]}, {**make_rows(1, 31)[0], "vector": [float("nan")] * 8}]
    await done(table.add(rows, on_bad_vectors="fill", fill_value=3.0))
    await done(table.add(rows, on_bad_vectors="drop"))
    try:
        await done(table.add(rows))
        refused = False
    except Exception:
        refused = True
    return [refused, await all_rows(table)]


def typed_columns():
    from datetime import date, datetime, time, timedelta, timezone
    from decimal import Decimal

    return {
        "id": pa.array([1, 2]),
        "bool": pa.array([True, None]),
        "int8": pa.array([1, -1], pa.int8()),
        "uint64": pa.array([2**63, 0], pa.uint64()),
        "float16": pa.array([1.5, None], pa.float16()),
        "float32": pa.array([1.5, 2.25], pa.float32()),
        "date": pa.array([date(2020, 1, 2), None]),
        "timestamp": pa.array([datetime(2020, 1, 2, 3, 4, 5, 6, timezone.utc), None], pa.timestamp("us", "UTC")),
        "nanoseconds": pa.array([1, 10**18], pa.timestamp("ns")),
        "time": pa.array([time(1, 2, 3), None], pa.time64("us")),
        "duration": pa.array([timedelta(seconds=1), None], pa.duration("ms")),
        "decimal": pa.array([Decimal("1.25"), None], pa.decimal128(20, 2)),
        "large_string": pa.array(["a", None], pa.large_string()),
        "binary": pa.array([b"\x00\xff", b""]),
        "large_binary": pa.array([b"x", None], pa.large_binary()),
        "binary16": pa.array([b"0123456789abcdef", None], pa.binary(16)),
        "dictionary": pa.array(["a", "b"]).dictionary_encode(),
        "struct": pa.array([{"a": 1, "b": ["x", None]}, None]),
        "large_list": pa.array([[1, 2], None], pa.large_list(pa.int64())),
    }


@check(*both("add (types)"))
async def add_types(place):
    data = pa.table(typed_columns())
    table = await done(place.connection.create_table(place.name(), data))
    await done(table.add(data))
    rows = await read_rows(table)
    return [await value(table.schema), rows.schema, [str(row) for row in rows.to_pylist()]]


@check(*both("add (progress)"))
async def add_progress(place):
    seen = []
    table = await make(place)
    await done(table.add(make_table(50, 20), progress=lambda progress: seen.append(progress)))
    return [len(seen) > 0, await done(table.count_rows())]


@check(*both("add (many parts)"), alone=True)
async def add_parts(place):
    table = await make(place, 1)
    # Older releases choose for themselves.
    options = {"write_parallelism": 4} if "write_parallelism" in inspect.signature(table.add).parameters else {}
    await done(
        table.add(
            (batch for start in range(1, 40_001, 10_000) for batch in make_table(10_000, start).to_batches()), **options
        )
    )
    assert await done(table.count_rows()) == 40_001


@check(*both("update"))
async def update(place):
    table = await make(place)
    if hasattr(table, "query"):
        first, second = {"updates": {"text": "it's", "vector": vector_of(99)}}, {"updates_sql": {"price": "price * 2"}}
    else:
        first, second = {"values": {"text": "it's", "vector": vector_of(99)}}, {"values_sql": {"price": "price * 2"}}
    one = await done(table.update(where="id = 3", **first))
    two = await done(table.update(where="id > 10", **second))
    every = await done(table.update(**second))
    return [one.rows_updated, one.version, two.rows_updated, every.rows_updated, await all_rows(table)]


@check(*both("update (values)"))
async def update_values(place):
    from datetime import date, datetime

    data = pa.table(
        {
            "id": [1, 2],
            "n": pa.array([1, 2], pa.int32()),
            "f": [1.5, 2.5],
            "b": [True, False],
            "d": [date(2020, 1, 1)] * 2,
            "t": pa.array([datetime(2020, 1, 1)] * 2, pa.timestamp("us")),
            "x": [b"a", b"b"],
            "l": [[1, 2], [3]],
        }
    )
    table = await done(place.connection.create_table(place.name(), data))
    key = "updates" if hasattr(table, "query") else "values"
    values = {
        "n": None,
        "f": -0.5,
        "b": False,
        "d": date(2021, 2, 3),
        "t": datetime(2021, 2, 3, 4, 5, 6),
        "x": b"\x01'",
        "l": [7, 8],
    }
    await done(table.update(where="id = 1", **{key: values}))
    return [str(row) for row in await all_rows(table)]


@check(*both("delete"))
async def delete(place):
    table = await make(place)
    result = await done(table.delete("id IN (1, 2) OR text LIKE '%common%'"))
    none = await done(table.delete("id > 1000"))
    await done(table.delete("true"))
    return [
        result.num_deleted_rows if hasattr(result, "num_deleted_rows") else None,
        result.version,
        none.version,
        await done(table.count_rows()),
    ]


@check(*both("count_rows"))
async def count_rows(place):
    table = await make(place)
    return [await done(table.count_rows()), await done(table.count_rows("id >= 5 and kind = 'a'"))]


@check(*both("schema"))
async def schema(place):
    data = make_table(2).replace_schema_metadata({"owner": "me"})
    fields = [field.with_metadata({"unit": "EUR"}) if field.name == "price" else field for field in data.schema]
    data = data.cast(pa.schema(fields, metadata={"owner": "me"}))
    found = await value((await done(place.connection.create_table(place.name(), data))).schema)
    return [found, plain(found.metadata)]


@check(*both("name"))
async def name(place):
    return (await make(place)).name


@check(*both("version"), *both("list_versions"))
async def versions(place):
    table = await make(place)
    await done(table.add(make_table(2, 20)))
    await done(table.delete("id = 1"))
    listed = await done(table.list_versions())
    return [
        await value(table.version),
        [each["version"] for each in listed],
        all(each["timestamp"] is not None for each in listed),
    ]


@check(*both("checkout"), *both("checkout_latest"))
async def checkout(place):
    table = await make(place)
    first = await value(table.version)
    await done(table.add(make_table(2, 20)))
    await done((await value(table.tags)).create("mark", first))
    found = []
    for wanted in (first, "mark"):
        await done(table.checkout(wanted))
        found += [await done(table.count_rows()), await value(table.version)]
        try:
            await done(table.add(make_table(1)))
            found.append("written")
        except Exception:
            found.append("refused")
        await done(table.checkout_latest())
        found.append(await done(table.count_rows()))
    return found


@check(*both("restore"))
async def restore(place):
    table = await make(place)
    first = await value(table.version)
    await done(table.add(make_table(2, 20)))
    await done(table.restore(first))
    counts = [await done(table.count_rows()), await value(table.version)]
    await done(table.checkout(first + 1))
    await done(table.restore())
    await done((await value(table.tags)).create("mark", first))
    counts.append(await done(table.count_rows()))
    await done(table.restore("mark"))
    return [*counts, await done(table.count_rows()), await value(table.version)]


def tags_of(method):
    return f"Tags.{method}", f"AsyncTags.{method}"


@check(
    *both("tags"),
    *(name for method in ("list", "create", "update", "delete", "get_version") for name in tags_of(method)),
)
async def tags(place):
    table = await make(place)
    await done(table.add(make_table(2, 20)))
    own = await value(table.tags)
    await done(own.create("one", 1))
    await done(own.create("two", 2))
    await done(own.update("one", 2))
    listed = {name: tag["version"] for name, tag in (await done(own.list())).items()}
    found = [listed, await done(own.get_version("one"))]
    await done(own.delete("two"))
    for work in (lambda: own.get_version("two"), lambda: own.create("one", 1), lambda: own.create("three", 99)):
        try:
            await done(work())
            found.append("no refusal")
        except Exception:
            found.append("refused")
    return [*found, list(await done(own.list()))]


def branches_of(method):
    return f"Branches.{method}", f"AsyncBranches.{method}"


@check(
    *both("branches"),
    *both("current_branch"),
    *(name for method in ("list", "create", "checkout", "delete") for name in branches_of(method)),
)
async def branches(place):
    table = await make(place)
    own = await value(table.branches)
    side = await done(own.create("side"))
    await done(side.add(make_table(3, 20)))
    other = await done(own.create("other", "side"))
    again = await done(own.checkout("side"))
    found = [
        await done(side.count_rows()),
        await done(other.count_rows()),
        await done(again.count_rows()),
        await done(table.count_rows()),
    ]
    found += [side.current_branch(), table.current_branch(), sorted(await done(own.list()))]
    await done(
        side.update(
            where="id = 1",
            **({"updates_sql": {"price": "77"}} if hasattr(side, "query") else {"values_sql": {"price": "77"}}),
        )
    )
    await done(side.delete("id = 2"))
    found += [await all_rows(side), await done(table.count_rows())]
    await done(own.delete("other"))
    return [*found, sorted(await done(own.list()))]


@check(*branches_of("diff"), *branches_of("cherry_pick"), expect=NOT_OFFERED, alone=True)
async def branch_diff(place):
    table = await make(place)
    own = await value(table.branches)
    await done(own.create("side"))
    await done(own.diff("side"))


@check(*branches_of("merge"), expect=NOT_OFFERED, alone=True)
async def branch_merge(place):
    table = await make(place)
    own = await value(table.branches)
    await done(own.create("side"))
    await done(own.merge("side"))


def merge_of(method):
    return f"LanceMergeInsertBuilder.{method}"


@check(
    *both("merge_insert"),
    merge_of("when_matched_update_all"),
    merge_of("when_not_matched_insert_all"),
    merge_of("execute"),
)
async def merge_insert(place):
    table = await make(place)
    builder = table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
    rows = [{**row, "text": "merged"} for row in make_rows(5, 18)]
    result = await done(builder.execute(rows))
    counts = [result.num_inserted_rows, result.num_updated_rows, result.num_deleted_rows, result.version]
    return [counts, await all_rows(table)]


@check(*both("merge_insert (conditions)"), merge_of("when_not_matched_by_source_delete"))
async def merge_conditions(place):
    table = await make(place)
    rows = pa.Table.from_pylist([{**row, "price": -1.0} for row in make_rows(10, 5)], schema=SCHEMA)
    builder = table.merge_insert("id").when_matched_update_all(where="target.price > 2")
    await done(builder.when_not_matched_by_source_delete("id >= 17").execute(rows))
    return await all_rows(table)


@check(*both("merge_insert (two columns)"), expect=(REFUSED, "works"))
async def merge_two_columns(place):
    table = await make(place)
    builder = table.merge_insert(["id", "kind"]).when_matched_update_all().when_not_matched_insert_all()
    await done(builder.execute([{**row, "text": "merged"} for row in make_rows(5, 18)]))
    return await all_rows(table)


@check(*both("merge_insert (pandas)"))
async def merge_pandas(place):
    table = await make(place)
    await done(table.merge_insert("id").when_not_matched_insert_all().execute(pd.DataFrame(make_rows(5, 18))))
    return await all_rows(table)


MERGE_OPTIONS = ("use_index", "use_lsm", "use_lsm_write", "validate_single_shard")


@check(*(merge_of(option) for option in MERGE_OPTIONS))
async def merge_options(place):
    table = await make(place)
    builder = table.merge_insert("id").when_not_matched_insert_all()
    for option in MERGE_OPTIONS:
        if hasattr(builder, option):
            builder = getattr(builder, option)(False)
    await done(builder.execute(make_rows(5, 18)))
    return await all_rows(table)


async def index_facts(table, name):
    stats = await done(table.index_stats(name))
    found = [(each.name, each.index_type, each.columns) for each in await done(table.list_indices())]
    kind = getattr(stats.distance_type, "lower", lambda: None)() if stats.distance_type else None
    return [found, stats.num_indexed_rows, stats.num_unindexed_rows, stats.index_type, kind]


CONFIGS = {
    "BTree": ("id", {}),
    "Bitmap": ("kind", {}),
    "LabelList": ("labels", {}),
    "Fm": ("text", {}),
    "FTS": ("text", {"with_position": True, "stem": False}),
    "IvfFlat": ("vector", {"num_partitions": 2}),
    "IvfSq": ("vector", {"num_partitions": 2}),
    "IvfPq": ("vector", {"num_partitions": 2, "num_sub_vectors": 2, "distance_type": "cosine"}),
    "IvfRq": ("vector", {"num_partitions": 2}),
    "HnswSq": ("vector", {"num_partitions": 1, "distance_type": "dot"}),
    "HnswFlat": ("vector", {"num_partitions": 1}),
    "HnswPq": ("vector", {"num_partitions": 1, "num_sub_vectors": 2}),
}


def register_config(kind, column, options):
    refused = {"HnswPq": REFUSED, "IvfSq": NOT_OFFERED, "HnswFlat": NOT_OFFERED}.get(kind, "works")

    @check(*both(f"create_index ({kind})"), expect=refused)
    async def create_index(place):
        table = await make(place, 300)
        await done(table.create_index(column, config=getattr(indexes, kind)(**options)))
        await done(table.wait_for_index([f"{column}_idx"], timedelta(seconds=50)))
        return await index_facts(table, f"{column}_idx")


for kind, (column, options) in CONFIGS.items():
    if hasattr(indexes, kind):
        register_config(kind, column, options)


@check(*both("create_index"), *both("list_indices"), *both("index_stats"), *both("wait_for_index"), *both("drop_index"))
async def create_index(place):
    table = await make(place, 300)
    await done(table.create_index("id", config=indexes.BTree(), name="by_id"))
    await done(table.create_index("id", config=indexes.BTree(), name="by_id", replace=True))
    await done(table.wait_for_index(["by_id"], timedelta(seconds=50)))
    facts = await index_facts(table, "by_id")
    missing = await done(table.index_stats("missing"))
    await done(table.drop_index("by_id"))
    try:
        await done(table.drop_index("by_id"))
        refused = False
    except Exception:
        refused = True
    return [facts, missing, list(await done(table.list_indices())), refused]


@check("RemoteTable.create_index (metric first)")
async def create_index_legacy(place):
    table = await make(place, 300)
    table.create_index("cosine", vector_column_name="vector", num_partitions=2, num_sub_vectors=2, index_type="IVF_PQ")
    table.wait_for_index(["vector_idx"], timedelta(seconds=50))
    return await index_facts(table, "vector_idx")


@check("RemoteTable.create_scalar_index")
async def create_scalar_index(place):
    table = await make(place, 300)
    for column, kind in (("id", "BTREE"), ("kind", "BITMAP"), ("labels", "LABEL_LIST")):
        table.create_scalar_index(column, index_type=kind)
        table.wait_for_index([f"{column}_idx"], timedelta(seconds=50))
    return sorted((each.name, each.index_type) for each in table.list_indices())


@check("RemoteTable.create_fts_index")
async def create_fts_index(place):
    table = await make(place, 300)
    table.create_fts_index("text", with_position=True)
    table.wait_for_index(["text_idx"], timedelta(seconds=50))
    return [
        await index_facts(table, "text_idx"),
        by_id(table.search('"rare filler"', query_type="fts").limit(50).to_list()),
    ]


@check(*both("create_index_async"), alone=True)
async def create_index_async(place):
    job = await index_job(place)
    await done(job.wait())
    table = await done(place.connection.open_table(place.name()))
    assert [each.name for each in await done(table.list_indices())] == ["id_idx"]


JOB = ("id", "wait", "status", "refresh", "state", "job_type", "creation_ms", "spec", "result", "failure", "cancel")


@check(*(f"{kind}.{member}" for kind in ("Job", "AsyncJob") for member in JOB), alone=True)
async def jobs(place):
    job = await index_job(place)
    await done(job.wait(timeout=timedelta(seconds=50)))
    assert await done(job.status()) in ("finished", "succeeded", "done"), await done(job.status())
    members = {
        name: await value(getattr(job, name)) for name in JOB if name not in ("wait", "status", "refresh", "cancel")
    }
    assert members["failure"] is None, members
    if members["id"] is not None:
        await done(job.refresh())
    await done(job.cancel())


@check("Job.events", "AsyncJob.events", expect=NOT_OFFERED, alone=True)
async def job_events(place):
    job = await index_job(place)
    await done(job.wait())
    await done(job.events())


@check(*both("create_index (FTS with stop words)"))
async def create_index_stop_words(place):
    table = await make(place, 300)
    # Older releases have the stop words of the language only.
    options = {"custom_stop_words": ["rare"]} if hasattr(indexes.FTS, "custom_stop_words") else {}
    config = indexes.FTS(stem=False, **options)
    await done(table.create_index("text", config=config))
    await done(table.wait_for_index(["text_idx"], timedelta(seconds=50)))
    found = []
    for word in ("rare", "filler"):
        query = table.query().nearest_to_text(word) if hasattr(table, "query") else table.search(word, query_type="fts")
        found.append(by_id(await done(query.limit(100).to_arrow())))
    return found


@check(*both("tokenize"))
async def tokenize(place):
    table = await make(place, 300)
    await done(table.create_index("text", config=indexes.FTS(stem=False)))
    await done(table.wait_for_index(["text_idx"], timedelta(seconds=50)))
    return [str(each) for each in await done(table.tokenize("A rare Filler", column="text"))]


@check(*both("prewarm_index"))
async def prewarm_index(place):
    table = await make(place, 300)
    await done(table.create_index("id", config=indexes.BTree()))
    await done(table.wait_for_index(["id_idx"], timedelta(seconds=50)))
    return await done(table.prewarm_index("id_idx"))


@check(*both("prewarm_data"), alone=True)
async def prewarm_data(place):
    table = await make(place)
    await done(table.prewarm_data(["id"]))
    await done(table.prewarm_data())


@check(*both("stats"))
async def stats(place):
    table = await make(place, 300)
    found = await done(table.stats())
    return (
        [found.num_rows, found.num_indices, found.fragment_stats.num_fragments, found.fragment_stats.lengths.max]
        if not isinstance(found, dict)
        else [
            found["num_rows"],
            found["num_indices"],
            found["fragment_stats"]["num_fragments"],
            found["fragment_stats"]["lengths"]["max"],
        ]
    )


@check(*both("add_columns"))
async def add_columns(place):
    table = await make(place)
    result = await done(table.add_columns({"twice": "price * 2", "upper_text": "upper(text)"}))
    return [result.version, await value(table.schema), await all_rows(table)]


@check(*both("add_columns (fields)"), expect=(REFUSED, "works"))
async def add_columns_fields(place):
    table = await make(place)
    await done(table.add_columns(pa.field("extra", pa.int32())))
    return [await value(table.schema), await all_rows(table)]


@check(*both("alter_columns"))
async def alter_columns(place):
    table = await make(place)
    result = await done(
        table.alter_columns({"path": "price", "rename": "cost"}, {"path": "id", "data_type": pa.int32()})
    )
    await done(table.alter_columns({"path": "kind", "nullable": True}))
    return [result.version, await value(table.schema), await all_rows(table)]


@check(*both("drop_columns"))
async def drop_columns(place):
    table = await make(place)
    result = await done(table.drop_columns(["labels", "kind"]))
    return [result.version, await value(table.schema), await all_rows(table)]


@check(*both("update_field_metadata"), *both("replace_field_metadata"))
async def update_field_metadata(place):
    table = await make(place)
    await done(table.update_field_metadata({"path": "price", "metadata": {"unit": "EUR", "old": "x"}}))
    await done(table.update_field_metadata({"path": "price", "metadata": {"old": None, "new": "y"}}))
    return await value(table.schema)


@check(*both("embedding_functions"))
async def embedding_functions(place):
    return await value((await make(place)).embedding_functions)


@check("RemoteTable.search", "AsyncTable.search", "AsyncTable.query", "AsyncTable.vector_search")
async def search(place):
    table = await make(place, 300)
    await done(table.create_index("text", config=indexes.FTS()))
    found = [(await done((await done(table.search(vector_of(5)))).limit(3).to_arrow())).to_pylist()]
    found.append(
        by_id((await done((await done(table.search("rare", query_type="fts"))).limit(30).to_arrow())).to_pylist())
    )
    if hasattr(table, "query"):
        found.append((await table.query().where("id = 3").to_arrow()).to_pylist())
        found.append((await table.vector_search(vector_of(7)).limit(2).to_arrow()).to_pylist())
    return found


@check(*both("head"))
async def head(place):
    return await done((await make(place)).head(3))


@check(*both("take_offsets"), *both("take_row_ids"))
async def take(place):
    table = await make(place)
    ids = await row_ids(table)
    return [
        by_id(await done(table.take_offsets([5, 1, 19]).to_arrow())),
        by_id(await done(table.take_row_ids([ids[3], ids[7]]).to_arrow())),
    ]


@check(*both("to_arrow"), *both("to_pandas"), expect=("works", REFUSED))
async def to_arrow(place):
    table = await make(place)
    frame = await done(table.to_pandas())
    return [by_id(await done(table.to_arrow())), by_id(frame.to_dict("records"))]


@check("RemoteTable.to_polars", expect=("works", REFUSED))
async def to_polars(place):
    return by_id((await make(place)).to_polars().collect().to_dicts())


@check(
    *both("to_lance"),
    expect=REFUSED,
    alone=True,
    explained="opens the files of the table, which are those of the service",
)
async def to_lance(place):
    await done((await make(place)).to_lance())


@check(*both("uri"), alone=True)
async def uri(place):
    found = await value((await make(place)).uri)
    assert "://" in found or found.startswith("/"), found


@check("RemoteTable.optimize", "RemoteTable.compact_files", "RemoteTable.cleanup_old_versions", alone=True)
async def maintenance(place):
    table = await make(place)
    table.optimize()
    table.compact_files()
    table.cleanup_old_versions()
    assert table.count_rows() == 20


@check("AsyncTable.optimize", expect=REFUSED, alone=True)
async def optimize(place):
    await (await make(place)).optimize()


@check("AsyncTable.close", "AsyncTable.is_open")
async def close(place):
    table = await make(place)
    before = await value(table.is_open)
    await done(table.close())
    return [before, await value(table.is_open)]


@check("AsyncTable.initial_storage_options", "AsyncTable.latest_storage_options", alone=True)
async def storage_options(place):
    table = await make(place)
    assert await table.initial_storage_options() is None
    assert await table.latest_storage_options() is None


@check(*both("set_unenforced_primary_key"), expect=REFUSED, alone=True)
async def primary_key(place):
    await done((await make(place)).set_unenforced_primary_key("id"))


def lsm_spec():
    from lancedb._lancedb import LsmWriteSpec as spec

    return spec.unsharded() if hasattr(spec, "unsharded") else spec.bucket("id", 2)


LSM = {
    "set_lsm_write_spec": lambda table: table.set_lsm_write_spec(lsm_spec()),
    "unset_lsm_write_spec": lambda table: table.unset_lsm_write_spec(),
    "checkpoint_lsm": lambda table: table.checkpoint_lsm(),
    "flush_lsm": lambda table: table.flush_lsm(),
    "compact_lsm": lambda table: table.compact_lsm(),
}


def register_lsm(method, call):
    @check(*both(method), expect=NOT_OFFERED, alone=True)
    async def lsm(place):
        await done(call(await make(place)))


for method, call in LSM.items():
    register_lsm(method, call)


@check(*both("get_lsm_write_spec"))
async def get_lsm_write_spec(place):
    return await done((await make(place)).get_lsm_write_spec())


@check(*both("get_lsm_stats"), alone=True)
async def get_lsm_stats(place):
    assert await done((await make(place)).get_lsm_stats()) is None


@check(*both("close_lsm_writers"), alone=True)
async def close_lsm_writers(place):
    await done((await make(place)).close_lsm_writers())


@check(*both("blob_columns"), expect=("works", REFUSED))
async def blob_columns(place):
    return await done((await make(place)).blob_columns())


async def make_blobs(place):
    data = pa.table({"id": [1, 2, 3], "data": pa.array([b"one", None, b"three" * 1000], pa.large_binary())})
    return await done(place.connection.create_table(place.name(), data))


@check(*both("fetch_blobs"), expect=REFUSED, alone=True)
async def fetch_blobs(place):
    await done((await make_blobs(place)).fetch_blobs("data", [0]))


@check(*both("fetch_blob_files"), expect=REFUSED, alone=True)
async def fetch_blob_files(place):
    await done((await make_blobs(place)).fetch_blob_files("data", [0]))


@check(*both("fetch_blob_ranges"), expect=REFUSED, alone=True)
async def fetch_blob_ranges(place):
    await done((await make_blobs(place)).fetch_blob_ranges("data", [(0, 0, 2)]))


@check(*both("refresh_column"), expect=REFUSED, alone=True)
async def refresh_column(place):
    await done((await make(place)).refresh_column("price"))


@check(*both("refresh_column_async"), expect=("works", NOT_OFFERED), alone=True)
async def refresh_column_async(place):
    table = await make(place)
    await done(table.add_columns(computed={"twice": "price * 2"}))
    job = await done(table.refresh_column_async("twice"))
    await done(job.wait())
    assert [row["twice"] for row in await all_rows(table)] == [row["price"] * 2 for row in await all_rows(table)]


@check(*both("function_errors"), expect=NOT_OFFERED, alone=True)
async def function_errors(place):
    await done((await make(place)).function_errors())


@check("RemoteTable.uses_v2_manifest_paths", "AsyncTable.uses_v2_manifest_paths", expect=REFUSED, alone=True)
async def manifest_paths(place):
    await done((await make(place)).uses_v2_manifest_paths())


@check("RemoteTable.migrate_v2_manifest_paths", "AsyncTable.migrate_manifest_paths_v2", expect=REFUSED, alone=True)
async def migrate_manifest_paths(place):
    table = await make(place)
    await done(
        table.migrate_v2_manifest_paths()
        if hasattr(table, "migrate_v2_manifest_paths")
        else table.migrate_manifest_paths_v2()
    )
