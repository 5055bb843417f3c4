"""Python loads a table: 200 articles with a title and a vector."""

import os

import lancedb

db = lancedb.connect(
    "db://default",
    api_key=os.environ["TILTYARD_KEY"],
    host_override=os.environ.get("TILTYARD_URL", "http://127.0.0.1:2333"),
)
subjects = ["the sea", "a red house", "mountain weather", "old maps"]
articles = [
    {"id": n, "title": f"Notes on {subjects[n % 4]}, part {n}", "vector": [float(n % 4), float(n), 0.0, 1.0]}
    for n in range(200)
]
table = db.create_table("articles", articles, mode="overwrite")
print("Python loaded", table.count_rows(), "rows")
