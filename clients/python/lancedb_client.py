"""Tries the methods of LanceDB's client for Python against the service, and prints one outcome per line."""

import json
import os

import lancedb

db = lancedb.connect(
    f"db://{os.environ['TILTYARD_DATABASE']}",
    api_key=os.environ["TILTYARD_API_KEY"],
    host_override=os.environ["TILTYARD_URL"],
)
rows = [{"id": 1, "vector": [1.0, 2.0]}]
table = db.create_table("first", rows)
same = table.search().to_list() == rows
print(json.dumps({"method": "RemoteDBConnection.create_table", "outcome": "works" if same else "differs"}))
