"""Rows that the checks write, and what they must read back."""

import pyarrow as pa

DIMENSION = 4
WORDS = ["red fox", "blue whale", "green frog", "brown bear"]
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64()),
        pa.field("name", pa.string()),
        pa.field("price", pa.float64()),
        pa.field("vector", pa.list_(pa.float32(), DIMENSION)),
    ]
)


def sample(first=0, count=20, price=None):
    """Row n has the price n and the vector [n, n, n, n]."""
    ids = list(range(first, first + count))
    return pa.table(
        {
            "id": ids,
            "name": [WORDS[n % len(WORDS)] for n in ids],
            "price": [float(n if price is None else price) for n in ids],
            "vector": [[float(n)] * DIMENSION for n in ids],
        },
        schema=SCHEMA,
    )


def to_stream(table):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def rows_of(table):
    """In the order of their ids."""
    return sorted(table.to_pylist(), key=lambda row: row["id"])
