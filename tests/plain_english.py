"""Counts the words of the project's old private language, by folder.

`python -m tests.plain_english` writes the counts to `tests/plain_english.toml`; the test lets them only fall. Read are
docstrings, comments and string literals that contain a space, Markdown outside code fences, and the texts `rule`, `why`
and `also` in TOML files. Specification, requirement pages, ledger and vectors are content with exact wording.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parent.parent
FILE: Final = ROOT / "tests" / "plain_english.toml"
# These words hide who acts or what happens; CONTRIBUTING.md names plain ones.
WORDS: Final = (
    *(
        "told",
        "tells of",
        "whoever",
        "nobody",
        "somebody",
        "anybody",
        "anew",
        "is got",
        "are got",
        "is none",
        "are none",
    ),
    *("of his own", "of her own", "hangs on", "goes without", "otherwise than", "likewise", "comes of"),
)
_PATTERN: Final = re.compile(r"\b(?:" + "|".join(WORDS).replace(" ", r"\s+") + r")\b", re.IGNORECASE)
_COMMENT: Final = re.compile("#.*" + _PATTERN.pattern, re.IGNORECASE)
_EXACT: Final = ("docs/spec/", "conformance/ledger/", "conformance/vectors/")
_THESE_FILES: Final = ("tests/plain_english.py", "tests/test_plain_english.py")
_FENCE: Final = re.compile(r"^( *)(```+|~~~+).*?^\1\2 *$", re.MULTILINE | re.DOTALL)
_TEXTS: Final = frozenset({"rule", "why", "also"})


@cache
def counts() -> dict[str, int]:
    """Return how often the words occur, by the first two folders of the file: `conformance/cli`, `README.md`."""
    word_counts: Counter[str] = Counter()
    tracked_files = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    for name in filter(None, tracked_files.split("\0")):
        path = ROOT / name
        if (
            name.startswith(_EXACT)
            or name in _THESE_FILES
            or path.suffix not in {".py", ".md", ".toml"}
            or not path.exists()
        ):
            continue
        text = path.read_text("utf-8")
        # Most files have none of the words, and reading their structure is slow.
        if _PATTERN.search(text):
            word_counts[folder(name)] += sum(len(_PATTERN.findall(part)) for part in parts(path.suffix, text))
    return {name: count for name, count in sorted(word_counts.items()) if count}


def folder(name: str) -> str:
    """Return the first two folders of a file's name, or the name of a file at the top."""
    return "/".join(name.split("/")[:2]) if name.count("/") > 1 else name.rpartition("/")[0] or name


def parts(suffix: str, text: str) -> Iterator[str]:
    """Yield the passages of a file that people read."""
    if suffix == ".md":
        yield _FENCE.sub("", text)
    elif suffix == ".toml":
        yield from _toml_texts(tomllib.loads(text), is_chosen=False)
    else:
        strings = (node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant))
        yield from (one for one in strings if isinstance(one, str) and " " in one)
        # Tokens are slow to make, and few files have one of the words behind a number sign.
        if _COMMENT.search(text):
            tokens = tokenize.generate_tokens(io.StringIO(text).readline)
            yield from (one.string for one in tokens if one.type == tokenize.COMMENT)


def _toml_texts(value: Any, *, is_chosen: bool) -> Iterator[str]:
    if isinstance(value, str) and is_chosen:
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _toml_texts(item, is_chosen=is_chosen)
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from _toml_texts(item, is_chosen=is_chosen or name in _TEXTS)


def limits() -> dict[str, int]:
    """Return the recorded counts."""
    return dict(tomllib.loads(FILE.read_text("utf-8")))


if __name__ == "__main__":
    lines = [f'"{name}" = {count}\n' for name, count in counts().items()]
    FILE.write_text("# Written by `python -m tests.plain_english`; counts may only fall.\n" + "".join(lines), "utf-8")
