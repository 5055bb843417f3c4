"""Tries every public method of LanceDB's client for Python, against the service and against local tables."""

import inspect
import os
import sys
import warnings

warnings.simplefilter("ignore")
sys.path.insert(0, os.path.dirname(__file__))

import connection_checks  # noqa: E402, F401
import guide_checks  # noqa: E402
import query_checks  # noqa: E402, F401
import table_checks  # noqa: E402, F401
from harness import CHECKS, report, run_checks  # noqa: E402
from lancedb import query, table  # noqa: E402
from lancedb.db import AsyncConnection  # noqa: E402
from lancedb.merge import LanceMergeInsertBuilder  # noqa: E402
from lancedb.remote.db import RemoteDBConnection  # noqa: E402
from lancedb.remote.table import RemoteTable  # noqa: E402

# Parts of the package that older releases do not have.
OTHERS = [(table, "Tags"), (table, "AsyncTags"), (table, "Branches"), (table, "AsyncBranches")]
CLASSES = [
    RemoteDBConnection,
    RemoteTable,
    AsyncConnection,
    table.AsyncTable,
    LanceMergeInsertBuilder,
    *(getattr(query, name) for name in query_checks.BASES),
    *(getattr(module, name) for module, name in OTHERS if hasattr(module, name)),
]
try:
    from lancedb.job import AsyncJob, Job

    CLASSES += [Job, AsyncJob]
except ImportError:
    pass
try:
    # Without this, a release refuses all views of a service.
    AsyncConnection.create_materialized_view_async
    from lancedb.materialized_view import AsyncMaterializedView, MaterializedView

    CLASSES += [MaterializedView, AsyncMaterializedView]
except (AttributeError, ImportError):
    pass


def has(check):
    owner, _, member = check.method.partition(".")
    known = next((each for each in CLASSES if each.__name__ == owner), None)
    return hasattr(known, member.split(" ")[0]) or "FullTextQuery" in owner


wanted = sys.argv[1:]
checks = [each for each in CHECKS if has(each) and (not wanted or any(word in each.method for word in wanted))]
# The guide starts with a database that has no tables.
if not wanted or "guides" in wanted:
    guide_checks.run_guide()
run_checks(checks)
tried = {each.method.split(" ")[0] for each in checks}
for owner in [] if wanted else CLASSES:
    for name in sorted(name for name, _ in inspect.getmembers(owner) if not name.startswith("_")):
        method = f"{owner.__name__}.{name}"
        if method in tried:
            continue
        reason = query_checks.INHERITED.get(name) if owner.__name__ in query_checks.BASES else None
        report(method, "skipped" if reason else "fails", reason or "no check tries it")
# Threads that did not end would keep the process.
sys.stdout.flush()
os._exit(0)
