"""Which test holds a rule that shows to no client: tests run with a mutant in the place of its module."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tools.mutation.places import ROOT, Mutant
from tools.mutation.stand import written

# What Python imports by itself at each start, such as in services that tests start; and a plugin of pytest, whose own
# importer comes before whatever was there when it started.
_REPLACING = """from pathlib import Path
from reference.variants.edits import import_edited
import_edited({{{module!r}: Path({file!r}).read_text("utf-8")}})
"""
_SITE, _PLUGIN = "sitecustomize", "weldproof_mutant"
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)
_WORDS = ("-x", "-q", "--no-header", "--tb=no", "-p", "no:cacheprovider")
_SECONDS = 600


def held_by(mutant: Mutant, paths: Sequence[str]) -> str | None:
    """Return the first test below some paths that fails with a mutant, or None where all pass.

    Raises:
        RuntimeError: No test was run.
    """
    with written(mutant.source()) as source, tempfile.TemporaryDirectory(prefix="weldproof-site-") as site:
        for name in (_SITE, _PLUGIN):
            Path(site, f"{name}.py").write_text(_REPLACING.format(module=mutant.module, file=str(source)), "utf-8")
        path = os.pathsep.join([site, str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        words = [sys.executable, "-m", "pytest", *paths, "-p", _PLUGIN, *_WORDS]
        done = subprocess.run(  # noqa: S603 - pytest, with paths that the caller names
            words,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    if done.returncode == 0:
        return None
    failed = _FAILED.search(done.stdout)
    if failed is None:
        raise RuntimeError(f"pytest {' '.join(paths)}: {done.returncode}: {(done.stdout + done.stderr)[-400:]}")
    return failed.group(1)
