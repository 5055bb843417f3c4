"""Methods of the builders of queries: each is applied to a query of its class, and what it reads is compared."""

from datetime import timedelta

import lancedb.query as queries
import pyarrow as pa
from lancedb import index as indexes
from lancedb.pydantic import LanceModel
from lancedb.rerankers import LinearCombinationReranker, Reranker, RRFReranker

from harness import REFUSED, by_id, check, done, plain
from rows import make_table, vector_of

VECTOR = vector_of(42)
TEXT = "rare"


async def make(place):
    table = await done(place.connection.create_table(place.name(), make_table()))
    await done(table.create_index("text", config=indexes.FTS(with_position=True, stem=False, remove_stop_words=False)))
    await done(table.wait_for_index(["text_idx"], timedelta(seconds=50)))
    return table


def hybrid(table):
    return table.search(query_type="hybrid").vector(VECTOR).text(TEXT)


BASES = {
    "LanceEmptyQueryBuilder": lambda table: table.search(),
    "LanceVectorQueryBuilder": lambda table: table.search(VECTOR),
    "LanceFtsQueryBuilder": lambda table: table.search(TEXT, query_type="fts"),
    "LanceHybridQueryBuilder": hybrid,
    "LanceTakeQueryBuilder": lambda table: table.take_offsets([3, 5, 8]),
    "AsyncQuery": lambda table: table.query(),
    "AsyncVectorQuery": lambda table: table.query().nearest_to(VECTOR),
    "AsyncFTSQuery": lambda table: table.query().nearest_to_text(TEXT),
    "AsyncHybridQuery": lambda table: table.query().nearest_to(VECTOR).nearest_to_text(TEXT),
    "AsyncTakeQuery": lambda table: table.take_offsets([3, 5, 8]),
}
LIMITED = [name for name in BASES if "Take" not in name]


def ordering(column, ascending):
    return [queries.ColumnOrdering(column_name=column, ascending=ascending)]


# A few rows that are the same ones everywhere.
def few(query):
    return query.limit(7) if hasattr(query, "limit") else query


STEPS = {
    "where": [
        lambda query: few(query.where("id > 2 and kind <> 'b'")),
        lambda query: few(query.where("id > 2", prefilter=False) if hasattr(query, "to_df") else query.where("id > 2")),
    ],
    "select": [
        lambda query: few(query.select(["id", "kind"])),
        lambda query: few(query.select({"id": "id", "double": "price * 2"})),
    ],
    "limit": [lambda query: query.limit(4)],
    "offset": [lambda query: query.limit(4).offset(2)],
    "order_by": [lambda query: query.where("id < 15").limit(8).order_by(ordering("price", False))],
    "with_row_id": [lambda query: few(query.with_row_id(True) if hasattr(query, "to_df") else query.with_row_id())],
    "with_row_address": [lambda query: few(query.with_row_address(True))],
    "fast_search": [lambda query: few(query.fast_search())],
    "use_lsm": [lambda query: few(query.use_lsm(False))],
    "postfilter": [
        lambda query: query.where("id < 100").postfilter().limit(20),
        lambda query: query.where("id > 2").postfilter().limit(5).offset(1),
    ],
    "distance_type": [lambda query: few(query.distance_type("cosine"))],
    "metric": [lambda query: few(query.metric("dot"))],
    "distance_range": [lambda query: query.distance_range(0.5, 300.0).limit(10)],
    "nprobes": [lambda query: few(query.nprobes(5))],
    "minimum_nprobes": [lambda query: few(query.minimum_nprobes(2))],
    "maximum_nprobes": [lambda query: few(query.maximum_nprobes(30))],
    "ef": [lambda query: few(query.ef(50))],
    "refine_factor": [lambda query: few(query.refine_factor(3))],
    "bypass_vector_index": [lambda query: few(query.bypass_vector_index())],
    "column": [lambda query: few(query.column("vector"))],
    "phrase_query": [lambda query: few(query.phrase_query(True))],
    "nearest_to": [lambda query: few(query.nearest_to(VECTOR))],
    "nearest_to_text": [lambda query: few(query.nearest_to_text(TEXT))],
}
# What a class inherits and cannot do, with a local table either, or what has no request of its own.
CLIENT_BUGS = {
    "AsyncHybridQuery.minimum_nprobes": "a bug of the client: the native hybrid query lacks the method, with a local table too",
    "AsyncHybridQuery.maximum_nprobes": "as minimum_nprobes",
    "AsyncHybridQuery.output_schema": "as minimum_nprobes",
}
REFUSED_BY_THE_CLIENT = {"LanceFtsQueryBuilder.to_batches", "LanceHybridQueryBuilder.to_batches"}
INHERITED = {
    "create": "the constructor behind Table.search",
    "text": "has an effect on hybrid queries only",
    "vector": "has an effect on hybrid queries only",
    "rerank": "has an effect on searches only",
}


class Row(LanceModel):
    id: int
    kind: str
    price: float


async def batches_of(query):
    reader = await done(query.to_batches())
    if hasattr(reader, "__aiter__"):
        return [row async for batch in reader for row in batch.to_pylist()]
    return [row for batch in reader for row in batch.to_pylist()]


async def plan_of(text):
    plan = await done(text)
    assert isinstance(plan, str) and len(plan) > 20, plan
    return True


async def frame_of(frame):
    return (await done(frame)).to_dict("records")


async def polars_of(frame):
    return (await done(frame)).to_dicts()


async def models_of(models):
    return [each.model_dump() for each in await done(models)]


READERS = {
    "to_arrow": lambda query: done(query.to_arrow()),
    "to_batches": batches_of,
    "to_list": lambda query: done(query.to_list()),
    "to_pandas": lambda query: frame_of(query.to_pandas()),
    "to_df": lambda query: frame_of(query.to_df()),
    "to_polars": lambda query: polars_of(query.to_polars()),
    "to_pydantic": lambda query: models_of((query.select(["id", "kind", "price"])).to_pydantic(Row)),
    "explain_plan": lambda query: plan_of(query.explain_plan(True)),
    "analyze_plan": lambda query: plan_of(query.analyze_plan()),
    "output_schema": lambda query: done(query.output_schema()),
}


def in_order(rows):
    """Rows with equal scores have no order."""
    found = plain(rows)
    is_ranked = isinstance(found, list) and found and isinstance(found[0], dict) and "id" in found[0]
    if is_ranked and ("_score" in found[0] or "_relevance_score" in found[0]):
        return sorted(found, key=lambda row: row["id"])
    return found


def register_step(owner, member, step, title):
    @check(title, explained=CLIENT_BUGS.get(title))
    async def apply(place):
        query = step(BASES[owner](await make(place)))
        return in_order(await done(query.to_arrow()))


def register_reader(owner, member, read):
    title = f"{owner}.{member}"

    @check(title, expect=REFUSED if title in REFUSED_BY_THE_CLIENT else "works", explained=CLIENT_BUGS.get(title))
    async def apply(place):
        query = few(BASES[owner](await make(place)))
        return in_order(await done(read(query)))


for owner in BASES:
    known = getattr(queries, owner)
    for member, steps in STEPS.items():
        if hasattr(known, member):
            for number, step in enumerate(steps):
                register_step(owner, member, step, f"{owner}.{member}" + (f" ({number + 1})" if number > 0 else ""))
    for member, read in READERS.items():
        if hasattr(known, member):
            register_reader(owner, member, read)


@check("LanceHybridQueryBuilder.vector", "LanceHybridQueryBuilder.text", "LanceHybridQueryBuilder.rerank")
async def hybrid_parts(place):
    table = await make(place)
    found = []
    for reranker in (RRFReranker(), RRFReranker(return_score="all"), LinearCombinationReranker(weight=0.3)):
        found.append(in_order(hybrid(table).rerank(reranker).limit(5).to_arrow()))
    return found


@check("AsyncHybridQuery.rerank")
async def async_rerank(place):
    query = (await make(place)).query().nearest_to(VECTOR).nearest_to_text(TEXT)
    return in_order(await query.rerank(RRFReranker(return_score="all")).limit(5).to_arrow())


class Backwards(Reranker):
    """Prefers what was found last."""

    def _score(self, found):
        return found.append_column("_relevance_score", pa.array(range(len(found)), pa.float32())).sort_by(
            [("_relevance_score", "descending")]
        )

    def rerank_hybrid(self, query, vector_results, fts_results):
        return self._score(self.merge_results(vector_results, fts_results))

    def rerank_vector(self, query, vector_results):
        return self._score(vector_results)

    def rerank_fts(self, query, fts_results):
        return self._score(fts_results)


@check("LanceVectorQueryBuilder.rerank", "AsyncVectorQuery.rerank")
async def rerank_vector(place):
    table = await make(place)
    query = table.query().nearest_to(VECTOR) if hasattr(table, "query") else table.search(VECTOR)
    return in_order(await done(query.limit(5).rerank(Backwards(), query_string=TEXT).to_arrow()))


@check("LanceFtsQueryBuilder.rerank", "AsyncFTSQuery.rerank")
async def rerank_text(place):
    table = await make(place)
    query = table.query().nearest_to_text(TEXT) if hasattr(table, "query") else table.search(TEXT, query_type="fts")
    return in_order(await done(query.limit(5).rerank(Backwards()).to_arrow()))


@check("AsyncFTSQuery.get_query")
async def get_query(place):
    return (await make(place)).query().nearest_to_text(TEXT).get_query()


@check(*(f"{owner}.to_query_object" for owner in BASES))
async def to_query_object(place):
    table = await make(place)
    query = table.query().where("id > 1") if hasattr(table, "query") else table.search().where("id > 1")
    return str(query.limit(3).to_query_object())


@check(
    *(f"{owner}.{member}" for owner in BASES for member in ("with_fragments", "fragment_ids")),
    expect=("works", REFUSED),
    explained="the client does not send the fragments to a service, so rows of all fragments are read",
)
async def fragments(place):
    table = await done(place.connection.create_table(place.name(), make_table(5)))
    await done(table.add(make_table(5, 5)))
    query = table.query() if hasattr(table, "query") else table.search()
    return by_id(await done(query.fragment_ids([1]).limit(100).to_arrow()))


def text_queries():
    match, phrase, boost, many = queries.MatchQuery, queries.PhraseQuery, queries.BoostQuery, queries.MultiMatchQuery
    occur = queries.Occur
    return {
        "MatchQuery": match("rare word3", "text"),
        "MatchQuery (fuzzy)": match("rara", "text", fuzziness=1, max_expansions=10),
        "MatchQuery (all words)": match("rare filler", "text", operator=queries.FullTextOperator.AND),
        "PhraseQuery": phrase("rare filler", "text"),
        "PhraseQuery (slop)": phrase("filler rare", "text", slop=2),
        "BoostQuery": boost(match("rare", "text"), match("filler", "text"), negative_boost=0.3),
        "MultiMatchQuery": many("rare", ["text"], boosts=[2.0]),
        "BooleanQuery": queries.BooleanQuery(
            [(occur.MUST, match("rare", "text")), (occur.MUST_NOT, phrase("filler filler filler", "text"))]
        ),
    }


def register_text(title):
    @check(f"FullTextQuery.{title}", f"AsyncFullTextQuery.{title}")
    async def text(place):
        table = await make(place)
        given = text_queries()[title]
        query = (
            table.query().nearest_to_text(given) if hasattr(table, "query") else table.search(given, query_type="fts")
        )
        return in_order(await done(query.limit(100).to_arrow()))


for title in text_queries():
    register_text(title)


@check("LanceVectorQueryBuilder.create (several vectors)", "AsyncVectorQuery.nearest_to (several vectors)")
async def several_vectors(place):
    table = await make(place)
    given = [vector_of(3), vector_of(4)]
    query = table.query().nearest_to(given) if hasattr(table, "query") else table.search(given)
    return sorted(plain(await done(query.limit(3).to_arrow())), key=lambda row: (row["query_index"], row["id"]))


@check("LanceVectorQueryBuilder.nprobes (index)", "AsyncVectorQuery.nprobes (index)")
async def with_index(place):
    table = await make(place)
    await done(table.create_index("vector", config=indexes.IvfFlat(num_partitions=2, distance_type="l2")))
    await done(table.wait_for_index(["vector_idx"], timedelta(seconds=50)))
    query = table.query().nearest_to(VECTOR) if hasattr(table, "query") else table.search(VECTOR)
    return plain(await done(query.nprobes(2).where("id > 5").limit(5).to_arrow()))


@check("LanceEmptyQueryBuilder.where (expression)", "AsyncQuery.where (expression)")
async def where_expression(place):
    from lancedb.expr import col, lit

    table = await make(place)
    query = table.query() if hasattr(table, "query") else table.search()
    return plain(await done(query.where((col("id") > lit(3)) & (col("kind") == lit("a"))).limit(500).to_arrow()))


@check("LanceEmptyQueryBuilder.to_pandas (flatten)")
async def flatten(place):
    data = pa.table({"id": [1, 2], "inner": [{"a": 1, "b": {"c": 2}}, {"a": 3, "b": {"c": 4}}]})
    table = place.connection.create_table(place.name(), data)
    return table.search().to_pandas(flatten=True).to_dict("records")
