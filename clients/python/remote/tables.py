"""Reading tables of either interface."""

from harness import done


async def read_rows(table, where=None):
    query = table.query() if hasattr(table, "query") else table.search()
    if where is not None:
        query = query.where(where)
    return await done(query.limit(100_000).to_arrow())
