"""
Calls every operation of the REST namespace that pylance implements, and checks each reply; then works with datasets
whose location comes from the namespace.
"""

import calls
import namespace_calls
from checks.all import checks_of
from checks.datasets import CHECKS as DATASETS
from checks.guide import CHECKS as GUIDE
from outcomes import run_checks

LOSES_BRANCH = (
    "rows that main has more after an insert into a branch",
    "this release of pylance does not send the branch of an insert",
)
LOSES_PREDICATE = ("rows of a predicate: 20", "this release of pylance sends neither predicate nor version")
LOSES_ACTION = ("exactly one of the three", "this release of pylance loses the action: it sends it without members")
KNOWN = {
    "RestNamespace.insert_into_table": LOSES_BRANCH,
    "RestNamespace.create_table_branch": LOSES_BRANCH,
    "LanceDataset.create_branch": LOSES_BRANCH,
    "LanceDataset.create_branch, managed versions": LOSES_BRANCH,
    "RestNamespace.count_table_rows": LOSES_PREDICATE,
    "RestNamespace.alter_transaction": LOSES_ACTION,
}

calls.connected.call = namespace_calls.call
operations = checks_of(namespace_calls.OPERATIONS)
run_checks({f"RestNamespace.{name}": check for name, check in operations.items()} | DATASETS | GUIDE, KNOWN)
