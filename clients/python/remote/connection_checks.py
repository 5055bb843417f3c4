"""Methods of connections, of both interfaces."""

import pickle
import uuid

import lancedb
import pandas as pd
import polars as pl
import pyarrow as pa
from lancedb.pydantic import LanceModel, Vector

from harness import NOT_OFFERED, REFUSED, WORKS, by_id, check, done, value
from rows import SCHEMA, make_rows, make_table
from tables import read_rows


def both(method):
    return f"RemoteDBConnection.{method}", f"AsyncConnection.{method}"


class Item(LanceModel):
    id: int
    text: str
    vector: Vector(3)


ITEMS = [Item(id=number, text=f"text {number}", vector=[number, 1.5, -2]) for number in range(5)]


def batches():
    for start in range(0, 30, 10):
        yield from make_table(10, start).to_batches()


DATA = {
    "list of dicts": (lambda: make_rows(20), {}),
    "dict of columns": (lambda: [{"id": 1, "vector": [1.0, 2.0]}], {}),
    "pyarrow table": (lambda: make_table(20), {}),
    "pyarrow batch": (lambda: make_table(20).to_batches()[0], {}),
    "batches of an iterator": (batches, {"schema": SCHEMA}),
    "pyarrow reader": (lambda: make_table(20).to_reader(), {}),
    "pandas": (lambda: pd.DataFrame(make_rows(20)), {}),
    "polars": (lambda: pl.DataFrame(make_rows(20)), {}),
    "pydantic": (lambda: ITEMS, {"schema": Item}),
    "pydantic without schema": (lambda: ITEMS, {}),
    "schema only": (lambda: None, {"schema": SCHEMA}),
    "pydantic schema only": (lambda: None, {"schema": Item}),
}


def register_data(title, make, options):
    @check(*both(f"create_table ({title})"))
    async def create(place):
        table = await done(place.connection.create_table(place.name(), make(), **options))
        return [await value(table.schema), by_id(await read_rows(table))]


for title, (make, options) in DATA.items():
    register_data(title, make, options)


@check(*both("create_table"))
async def create_table(place):
    db, name = place.connection, place.name()
    await done(db.create_table(name, make_table(5)))
    try:
        await done(db.create_table(name, make_table(5)))
        refused = "nothing"
    except Exception as error:
        refused = "already exists" in str(error)
    kept = await done(db.create_table(name, make_table(7), exist_ok=True))
    kept_rows = await done(kept.count_rows())
    over = await done(db.create_table(name, make_table(9), mode="overwrite"))
    return [refused, kept_rows, await done(over.count_rows()), over.name]


@check(*both("create_table (bad vectors)"))
async def create_table_bad_vectors(place):
    db = place.connection
    rows = [{"id": 1, "vector": [1.0, 2.0]}, {"id": 2, "vector": [1.0]}, {"id": 3, "vector": [float("nan"), 1.0]}]
    found = []
    for number, options in enumerate(({"on_bad_vectors": "drop"}, {"on_bad_vectors": "fill", "fill_value": 7.0})):
        table = await done(db.create_table(place.name(f"t{number}"), rows, **options))
        found.append(by_id(await read_rows(table)))
    return found


@check(*both("open_table"))
async def open_table(place):
    db, name = place.connection, place.name()
    made = await done(db.create_table(name, make_table(5)))
    await done(made.add(make_table(2, 5)))
    opened = await done(db.open_table(name))
    try:
        await done(db.open_table(place.name("missing")))
        refused = "nothing"
    except Exception as error:
        refused = [type(error).__name__, "not found" in str(error)]
    return [by_id(await read_rows(opened)), refused]


@check(*both("open_table (version)"))
async def open_table_version(place):
    db, name = place.connection, place.name()
    made = await done(db.create_table(name, make_table(5)))
    first = await value(made.version)
    await done(made.add(make_table(2, 5)))
    opened = await done(db.open_table(name, version=first))
    return await done(opened.count_rows())


@check(*both("open_table (branch)"))
async def open_table_branch(place):
    db, name = place.connection, place.name()
    made = await done(db.create_table(name, make_table(5)))
    branch = await done((await value(made.branches)).create("side"))
    await done(branch.add(make_table(2, 5)))
    opened = await done(db.open_table(name, branch="side"))
    return [await done(opened.count_rows()), await done(made.count_rows())]


@check(*both("table_names"))
async def table_names(place):
    db = place.connection
    names = [place.name(suffix) for suffix in "abc"]
    for name in names:
        await done(db.create_table(name, make_table(1)))
    start = {"page_token": names[0]} if hasattr(db, "api_key") or hasattr(db, "_conn") else {"start_after": names[0]}
    listed = await done(db.table_names(**start, limit=2))
    return [each for each in listed if each.startswith(place.prefix + "_")]


@check(*both("list_tables"), alone=True)
async def list_tables(place):
    db = place.connection
    for suffix in "abc":
        await done(db.create_table(place.name(suffix), make_table(1)))
    found, token = [], None
    while True:
        page = await done(db.list_tables(page_token=token, limit=2))
        found += page.tables
        token = page.page_token
        if not token:
            break
    own = [each for each in found if each.startswith(place.prefix + "_")]
    assert own == [place.name(suffix) for suffix in "abc"], own


@check("RemoteDBConnection.table_exists", expect=REFUSED)
async def table_exists(place):
    db = place.connection
    await done(db.create_table(place.name(), make_table(1)))
    return [db.table_exists(place.name()), db.table_exists(place.name("missing"))]


@check(*both("drop_table"))
async def drop_table(place):
    db = place.connection
    for suffix in "ab":
        await done(db.create_table(place.name(suffix), make_table(1)))
    await done(db.drop_table(place.name("a")))
    try:
        await done(db.open_table(place.name("a")))
        gone = False
    except Exception:
        gone = True
    return [gone, await done((await done(db.open_table(place.name("b")))).count_rows())]


@check(*both("drop_table_async"), alone=True)
async def drop_table_async(place):
    db = place.connection
    await done(db.create_table(place.name(), make_table(1)))
    job = await done(db.drop_table_async(place.name()))
    await done(job.wait())
    names = (await done(db.list_tables())).tables
    assert place.name() not in names, names


@check(*both("drop_all_tables"), *both("drop_database"), expect=REFUSED, alone=True)
async def drop_all_tables(place):
    await done(place.connection.drop_all_tables())


@check(*both("rename_table"), alone=True)
async def rename_table(place):
    db = place.connection
    await done(db.create_table(place.name("before"), make_table(3)))
    await done(db.rename_table(place.name("before"), place.name("after")))
    opened = await done(db.open_table(place.name("after")))
    assert by_id(await read_rows(opened)) == by_id(make_rows(3))


@check(*both("clone_table"), alone=True)
async def clone_table(place):
    db = place.connection
    source = await done(db.create_table(place.name(), make_table(3)))
    first = await value(source.version)
    await done(source.add(make_table(2, 3)))
    uri = await value(source.uri)
    clone = await done(db.clone_table(place.name("clone"), uri))
    older = await done(db.clone_table(place.name("older"), uri, source_version=first))
    assert [await done(clone.count_rows()), await done(older.count_rows())] == [5, 3]
    await done(clone.add(make_table(1, 5)))
    assert await done(source.count_rows()) == 5


async def with_namespace(place, work):
    db, path = place.connection, [place.name("space")]
    await done(db.create_namespace(path, properties={"owner": "me"}))
    return await work(db, path)


@check(*both("create_namespace"), *both("describe_namespace"), *both("drop_namespace"), alone=True)
async def namespaces(place):
    async def work(db, path):
        described = await done(db.describe_namespace(path))
        assert described.properties == {"owner": "me"}, described
        for mode in ("exist_ok", "EXIST_OK"):
            await done(db.create_namespace(path, mode=mode))
        try:
            await done(db.create_namespace(path))
        except Exception as error:
            assert "exists" in str(error), error
        else:
            raise AssertionError("a namespace was created twice")
        table = await done(db.create_table("inner", make_table(3), namespace_path=path))
        assert by_id(await read_rows(table)) == by_id(make_rows(3))
        await done(db.drop_namespace(path, behavior="cascade"))
        await done(db.drop_namespace(path, mode="skip"))
        listed = await done(db.list_namespaces())
        assert path[0] not in listed.namespaces

    await with_namespace(place, work)


@check(*both("list_namespaces"), alone=True)
async def list_namespaces(place):
    async def work(db, path):
        for child in "xyz":
            await done(db.create_namespace([*path, child]))
        found, token = [], None
        while True:
            page = await done(db.list_namespaces(namespace_path=path, page_token=token, limit=2))
            found += page.namespaces
            token = page.page_token
            if not token:
                break
        assert found == ["x", "y", "z"], found

    await with_namespace(place, work)


@check(*both("list_tables (namespace)"), alone=True)
async def tables_of_namespace(place):
    async def work(db, path):
        await done(db.create_table("one", make_table(1), namespace_path=path))
        await done(db.create_table("two", make_table(2), namespace_path=path))
        assert (await done(db.list_tables(namespace_path=path))).tables == ["one", "two"]
        assert list(await done(db.table_names(namespace_path=path))) == ["one", "two"]
        two = await done(db.open_table("two", namespace_path=path))
        assert await done(two.count_rows()) == 2
        await done(db.rename_table("two", "three", cur_namespace_path=path))
        await done(db.drop_table("one", namespace_path=path))
        assert (await done(db.list_tables(namespace_path=path))).tables == ["three"]

    await with_namespace(place, work)


@check("RemoteDBConnection.namespace_exists", expect=REFUSED, alone=True)
async def namespace_exists(place):
    async def work(db, path):
        assert db.namespace_exists(path) is True
        assert db.namespace_exists([place.name("missing")]) is False

    await with_namespace(place, work)


@check(
    *both("namespace_client"),
    alone=True,
    explained=lambda state, detail: "needs the package pylance" if "No module named 'lance'" in detail else None,
)
async def namespace_client(place):
    from lance_namespace import ListTablesRequest

    db = place.connection
    await done(db.create_table(place.name(), make_table(1)))
    client = await done(db.namespace_client())
    assert place.name() in client.list_tables(ListTablesRequest(id=[])).tables


@check(*both("close"), alone=True)
async def close(place):
    await done(place.connection.create_table(place.name(), make_table(1)))
    await done(place.connection.close())


@check("AsyncConnection.is_open")
async def is_open(place):
    before = place.connection.is_open()
    place.connection.close()
    return [before, place.connection.is_open()]


@check("AsyncConnection.uri", alone=True)
async def uri(place):
    assert isinstance(place.connection.uri, str)


@check(
    "RemoteDBConnection.uri",
    alone=True,
    explained="a bug of the client: its remote connection lacks the field that this property reads",
)
async def sync_uri(place):
    assert isinstance(place.connection.uri, str)


@check("RemoteDBConnection.serialize", alone=True)
async def serialize(place):
    table = await done(place.connection.create_table(place.name(), make_table(3)))
    again = lancedb.deserialize_conn(place.connection.serialize())
    assert again.open_table(place.name()).count_rows() == 3
    assert pickle.loads(pickle.dumps(table)).count_rows() == 3


@check("AsyncConnection.get_read_consistency_interval", expect=REFUSED, alone=True)
async def read_consistency(place):
    assert await place.connection.get_read_consistency_interval() is None


async def index_job(place):
    from lancedb.index import BTree

    table = await done(place.connection.create_table(place.name(), make_table()))
    return await done(table.create_index_async("id", config=BTree()))


@check(*both("list_jobs"), *both("open_job"), *both("cancel_job"), alone=True)
async def jobs(place):
    db = place.connection
    job = await index_job(place)
    await done(job.wait())
    known = await done(db.list_jobs())
    if known:
        opened = await done(db.open_job(known[0].job_id))
        await done(opened.refresh())
        assert opened.state is not None
    assert await done(db.cancel_job(str(uuid.uuid4()))) is False


@check(*both("pause_job"), *both("resume_job"), expect=NOT_OFFERED, alone=True)
async def pause_job(place):
    await done(place.connection.pause_job(str(uuid.uuid4())))


async def make_view(place):
    db = place.connection
    await done(db.create_table(place.name(), make_table(6)))
    job = await done(db.create_materialized_view_async(place.name("view"), place.name(), where="id > 1"))
    await done(job.wait())
    return await done(db.open_table(place.name("view")))


@check(*both("create_materialized_view_async"), alone=True)
async def create_view_async(place):
    view = await make_view(place)
    assert by_id(await read_rows(view)) == by_id(make_rows(6)[2:])


@check(*both("create_materialized_view"), expect=(WORKS, REFUSED), alone=True)
async def create_materialized_view(place):
    db = place.connection
    await done(db.create_table(place.name(), make_table(6)))
    await done(db.create_materialized_view(place.name("view"), place.name(), where="id > 1"))
    view = await done(db.open_table(place.name("view")))
    assert by_id(await read_rows(view)) == by_id(make_rows(6)[2:])


@check(*both("list_materialized_views"), expect=(WORKS, REFUSED), alone=True)
async def list_materialized_views(place):
    if hasattr(place.connection, "create_materialized_view_async"):
        await make_view(place)
    found = await done(place.connection.list_materialized_views())
    assert place.name("view") in found and place.name() not in found


@check(*both("open_materialized_view"), expect=(WORKS, REFUSED), alone=True)
async def open_materialized_view(place):
    # Older releases refuse to open one, too.
    if hasattr(place.connection, "create_materialized_view_async"):
        await make_view(place)
    view = await done(place.connection.open_materialized_view(place.name("view")))
    assert view.name == place.name("view")


@check(*both("drop_materialized_view"), *both("drop_materialized_view_async"), alone=True)
async def drop_materialized_view(place):
    await make_view(place)
    await done(place.connection.drop_materialized_view(place.name("view")))
    assert place.name("view") not in (await done(place.connection.list_tables())).tables


async def open_view(place):
    await make_view(place)
    view = await done(place.connection.open_materialized_view(place.name("view")))
    return view, await done(place.connection.open_table(place.name()))


def of_views(method):
    return f"MaterializedView.{method}", f"AsyncMaterializedView.{method}"


@check(*of_views("name"), *of_views("table"), *of_views("definition"), alone=True)
async def view_definition(place):
    view, _ = await open_view(place)
    query = (await value(view.definition)).query
    assert view.name == view.table.name == place.name("view")
    assert f"FROM {place.name()} WHERE id > 1" in query, query


@check(*of_views("refresh"), alone=True)
async def refresh_view(place):
    view, source = await open_view(place)
    modes = [(await done(view.refresh())).mode]
    await done(source.add(make_table(2, 6)))
    added = await done(view.refresh())
    modes += [added.mode, (await done(view.refresh(full=True))).mode]
    assert modes == ["no_op", "incremental", "rebuild"] and added.rows_written == 2, (modes, added)
    assert by_id(await read_rows(view.table)) == by_id(make_rows(8)[2:])
    older = await done(view.refresh(source_version=added.source_version - 1))
    assert (older.mode, older.rows_written) == ("rebuild", 4), older


@check(*of_views("refresh_async"), alone=True)
async def refresh_view_async(place):
    view, source = await open_view(place)
    await done(source.delete("id = 5"))
    job = await done(view.refresh_async())
    assert (await done(job.wait())).rows_written == 3
    assert by_id(await read_rows(view.table)) == by_id(make_rows(5)[2:])


CALLS = {
    "get_function": (("f",), {"version": "1"}),
    "list_functions": ((), {}),
    "drop_function": (("f",), {"version": "1"}),
    "drop_function_async": (("f",), {"version": "1"}),
    "create_secret": (("secret", "value"), {}),
    "alter_secret": (("secret", "value"), {}),
    "describe_secret": (("secret",), {}),
    "list_secrets": ((), {}),
    "drop_secret": (("secret",), {}),
    "create_view": (("view", "select 1"), {}),
    "describe_view": (("view",), {}),
    "drop_view": (("view",), {}),
    "drop_view_async": (("view",), {}),
    "list_views": ((), {}),
}


def register_call(method, args, options):
    @check(*both(method), expect=(REFUSED, NOT_OFFERED), alone=True)
    async def call(place):
        await done(getattr(place.connection, method)(*args, **options))


for method, (args, options) in CALLS.items():
    register_call(method, args, options)


@check(
    *both("execute_query"),
    *both("execute_query_async"),
    *both("describe_query"),
    alone=True,
    explained="SQL over whole databases goes to a Flight SQL server beside the service, which is not offered",
)
async def execute_query(place):
    await done(place.connection.execute_query("select 1"))


@check(*both("create_function"), *both("create_function_async"), expect=(REFUSED, NOT_OFFERED), alone=True)
async def create_function(place):
    @lancedb.udf
    def double(value: int) -> int:
        return 2 * value

    await done(place.connection.create_function_async(double))
