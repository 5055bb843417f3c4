"""The rows of the checks."""

import pyarrow as pa

DIMENSIONS = 8
ROWS = 300
# So many rows have the word `rare`, each in a text of another length, so that no two have the same score.
RARE = 20

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64()),
        pa.field("text", pa.string()),
        pa.field("kind", pa.string()),
        pa.field("price", pa.float64()),
        pa.field("labels", pa.list_(pa.string())),
        pa.field("vector", pa.list_(pa.float32(), DIMENSIONS)),
    ]
)


def vector_of(number):
    return [float((number * (at + 3)) % 17) + number / 100 for at in range(DIMENSIONS)]


def text_of(number):
    return "rare" + " filler" * number if number < RARE else f"common word{number % 7}"


def make_rows(count=ROWS, start=0):
    return [
        {
            "id": number,
            "text": text_of(number),
            "kind": "abc"[number % 3],
            "price": number / 4,
            "labels": [f"label{number % 5}", f"label{number % 3}"],
            "vector": vector_of(number),
        }
        for number in range(start, start + count)
    ]


def make_table(count=ROWS, start=0):
    return pa.Table.from_pylist(make_rows(count, start), schema=SCHEMA)
