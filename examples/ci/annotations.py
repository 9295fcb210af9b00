"""Annotations of a GitHub workflow from a run's JUnit report: `python annotations.py junit.xml [PROFILE]`.

One line a requirement: an error where it is broken, a warning where there is no verdict or it only warns. What a target
sent stands in such texts, so nothing in them can end a line or begin a command of the workflow's.
"""
# ruff: noqa: INP001, T201 - a program for a forge, which reads what it prints

from __future__ import annotations

import posixpath
import sys
from collections.abc import Iterator
from xml.etree import ElementTree as ET

# A forge shows ten of a kind for a step; the job's summary has all of them.
_SHOWN = 10
_LINES = 12


def main() -> int:
    """Print the annotations of a report."""
    path, profile = sys.argv[1], "".join(posixpath.normpath(one) for one in sys.argv[2:3] if one)
    shown: dict[str, int] = {}
    for kind, title, text in _findings(ET.parse(path).getroot()):  # noqa: S314 - the suite wrote it
        shown[kind] = shown.get(kind, 0) + 1
        if shown[kind] <= _SHOWN:
            file = f"file={_property(profile)}," if profile else ""
            print(f"::{kind} {file}title={_property(title)}::{_data(text)}")
    return 0


def _findings(report: ET.Element) -> Iterator[tuple[str, str, str]]:
    """Yield (kind of annotation, title, text) of each requirement that is to be looked at."""
    for case in report.iter("testcase"):
        name = case.get("name", "")
        for result in case:
            text = f"{result.get('message', '')}\n{result.text or ''}".strip()
            if result.tag in {"failure", "error"}:
                kind = "error" if result.tag == "failure" or result.get("type") == "error" else "warning"
                yield kind, name, text
            elif result.tag == "system-out":
                yield "warning", name, (result.text or "").strip()


def _data(text: str) -> str:
    lines = text.splitlines()[:_LINES]
    return "%0A".join(line.replace("%", "%25").replace("\r", "%0D") for line in lines)


def _property(text: str) -> str:
    return _data(" ".join(text.split())).replace(":", "%3A").replace(",", "%2C")


if __name__ == "__main__":
    sys.exit(main())
