"""`requirements/all.txt` is what pip needs to install the locked versions with their hashes."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from programs.installer_progress import to_stderr
from programs.uv import uv

ROOT = Path(__file__).parent.parent
FILE = ROOT / "requirements" / "all.txt"
# `make requirements` writes the file by the same words.
WORDS = (
    *("export", "--frozen", "--extra", "all", "--group", "build"),
    *("--no-emit-project", "--no-header", "--no-annotate", "--format", "requirements-txt"),
)


def test_the_file_is_an_export_of_the_lock() -> None:
    """It has the versions and hashes of uv.lock; `make requirements` writes it."""
    words = [str(uv(to_stderr).path), *WORDS]
    result = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    assert result.stdout == FILE.read_text("utf-8")


def test_every_package_has_a_version_and_a_hash() -> None:
    """Pip refuses the whole file in its hash-checking mode if a package lacks either."""
    entries = FILE.read_text("utf-8").replace("\\\n", " ").splitlines()
    assert len(entries) > 100
    for entry in entries:
        assert re.match(r"[\w.-]+==[\w.!+-]+ ", entry), entry
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry), entry


def test_make_writes_it_by_the_same_words() -> None:
    """The Makefile's recipe and this test agree on the words."""
    (recipe,) = re.findall(r"^requirements:.*\n\t(.+)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert " ".join(WORDS) in recipe
