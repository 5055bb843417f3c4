"""Runs the samples of the guide, one after the other, as its readers do."""

import contextlib
import io
import os
import re
from pathlib import Path

import lance

from calls import KEY
from outcomes import Differs, Skipped

PAGE = Path(__file__).parents[4] / "docs/guides/lance-namespace.md"
RELEASE_MIN = 14
BLOCK = re.compile(r"((?:<!-- .+? -->\n)+)```python\n(.+?)```", re.DOTALL)


def samples():
    if int(lance.__version__.split(".")[0]) < RELEASE_MIN:
        raise Skipped(f"the samples are for pylance {RELEASE_MIN} and later")
    os.environ["TILTYARD_KEY"] = KEY
    blocks = BLOCK.findall(PAGE.read_text())
    if not blocks:
        raise Differs("the guide has no samples")
    variables = {}
    for comments, code in blocks:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, variables)
        for expected in re.findall(r"<!-- prints: (.+?) -->", comments):
            if expected not in printed.getvalue():
                raise Differs(f"a sample prints {printed.getvalue()!r} without {expected!r}")


CHECKS = {"Guide.lance-namespace": samples}
