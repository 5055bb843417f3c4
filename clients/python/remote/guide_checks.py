"""Runs the examples of the guide, one after the other as a reader does, and compares what they print."""

import contextlib
import io
import os
import re

from harness import KEY, URL, report, show

GUIDE = os.path.join(os.path.dirname(__file__), "../../../docs/guides/python.md")
BLOCK = re.compile(r"((?:<!-- .+? -->\n)*)```python\n(.*?)```", re.S)


def run_guide():
    os.environ["TILTYARD_KEY"] = KEY
    with open(GUIDE, encoding="utf8") as file:
        text = file.read()
    known = {"__name__": "guide"}
    for block in BLOCK.finditer(text):
        comments, code = block.groups()
        line = text.count("\n", 0, block.start(2)) + 1
        report_block(f"guides/python, line {line}", code, re.findall(r"<!-- prints: (.+?) -->", comments), known)


def report_block(title, code, wanted, known):
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            exec(code.replace("http://127.0.0.1:2333", URL), known)
    except BaseException as error:
        return report(title, "fails", show(error))
    missing = [each for each in wanted if each not in printed.getvalue().splitlines()]
    detail = f"printed {printed.getvalue()!r}, without {missing}" if missing else ""
    return report(title, "differs" if missing else "works", detail)
