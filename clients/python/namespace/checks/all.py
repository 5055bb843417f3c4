"""The check of every operation."""

from checks import data, history, indexes, tables, versions
from outcomes import Differs

CHECKS = {name: check for part in (tables, data, indexes, history, versions) for name, check in part.CHECKS.items()}


def checks_of(operations):
    """The operations are those that this release has, so that none is forgotten."""
    return {name: CHECKS.get(name, unchecked(name)) for name in sorted(operations)}


def unchecked(name):
    def check():
        raise Differs(f"this release has {name}, which the program does not check")

    return check
