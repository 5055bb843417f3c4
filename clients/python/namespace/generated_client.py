"""Calls every operation of the client that is generated from the Lance REST description, and checks each reply."""

import calls
import generated_calls
from checks.all import checks_of
from outcomes import run_checks

calls.connected.call = generated_calls.call
operations = generated_calls.OPERATIONS
run_checks({f"{type(operations[name]).__name__}.{name}": check for name, check in checks_of(operations).items()})
