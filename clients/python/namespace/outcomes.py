"""Runs the checks of a client one by one, and prints one outcome per line."""

import json
import threading
import traceback

SECONDS_MAX = 120


class Differs(Exception):
    """The call succeeded with other contents than it should have."""


class Explained(Exception):
    """The call did something else than it should have, and this is right, or no fault of the service."""

    def __init__(self, detail, reason):
        super().__init__(detail)
        self.reason = reason


class NotOffered(Exception):
    """The service answers that it does not have the operation."""


class RefusedByClient(Exception):
    """The client has no such call, or refuses it before it sends a request."""


class Skipped(Exception):
    """The check needs something that is not there."""


def same(seen, wanted, what):
    if seen != wanted:
        raise Differs(f"{what}: {shorten(seen)} in place of {shorten(wanted)}")


def holds(condition, what):
    if not condition:
        raise Differs(what)


def shorten(value):
    text = repr(value)
    return text if len(text) <= 400 else f"{text[:400]}…"


def run_checks(checks, known=None):
    """
    Runs `{method: check}`; a check that raises nothing has compared contents, and works. `known` are faults of the client
    itself: `{method: (symptom, reason)}`.
    """
    for method, check in checks.items():
        outcome = outcome_of(check)
        symptom, reason = (known or {}).get(method, (None, None))
        if outcome["outcome"] in ("fails", "differs") and symptom is not None and symptom in outcome["detail"]:
            outcome["explained"] = reason
        print(json.dumps({"method": method, **outcome}), flush=True)


def outcome_of(check):
    seen = {}

    def run():
        try:
            check()
            seen.update(outcome="works")
        except Differs as difference:
            seen.update(outcome="differs", detail=f"{line_of(difference)}{difference}")
        except Explained as difference:
            seen.update(outcome="differs", detail=str(difference), explained=difference.reason)
        except NotOffered as refusal:
            seen.update(outcome="not offered", detail=str(refusal))
        except RefusedByClient as reason:
            seen.update(outcome="refused by the client", detail=str(reason))
        except Skipped as reason:
            seen.update(outcome="skipped", detail=str(reason))
        except BaseException as error:
            seen.update(outcome="fails", detail=describe(error))

    # A thread, because native code does not return for a signal.
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(SECONDS_MAX)
    return dict(seen) if seen else {"outcome": "fails", "detail": f"no reply within {SECONDS_MAX} seconds"}


def describe(error):
    return f"{line_of(error)}{type(error).__name__}: {str(error)[:800]}"


def line_of(error):
    """The line of the check."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "/checks/" in frame.filename]
    return f"line {frames[0].lineno}: " if frames else ""
