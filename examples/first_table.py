import os
import pyarrow as pa
import requests

base = os.environ.get("TILTYARD_URL", "http://127.0.0.1:2333")
session = requests.Session()
session.headers["x-api-key"] = os.environ["TILTYARD_KEY"]

table = pa.table({"id": pa.array([1, 2, 3], pa.int32()), "price": [9.5, 3.0, 12.0]})
sink = pa.BufferOutputStream()
with pa.ipc.new_stream(sink, table.schema) as writer:
    writer.write_table(table)
arrow = {"content-type": "application/vnd.apache.arrow.stream"}
print(session.post(f"{base}/v1/table/costs/create", data=sink.getvalue().to_pybytes(), headers=arrow).json())
print(session.get(f"{base}/v1/tables").json())
update = {"updates": [["price", "price * 2"]], "predicate": "id > 1"}
print(session.post(f"{base}/v1/table/costs/update", json=update).json())
unit = {"updates": [{"path": "price", "metadata": {"unit": "EUR"}}]}
print(session.post(f"{base}/v1/table/costs/update_field_metadata", json=unit).json())
print(session.post(f"{base}/v1/table/costs/analyze_plan", json={"filter": "price > 5", "k": 10}).json())
print(session.post(f"{base}/v1/table/costs/update", json={"updates": [["prise", "1"]]}).json())
