"""`python -m tools.mutation.service (replace NAME FILE | trace FOLDER) MODULE [ARGUMENT]…`: run a changed service.

`replace` takes the source of the module NAME from FILE, `trace` records which lines of the reference are run. Every
library that services import is imported first, so that a process that is forked from a prepared one has them; the
modules of the reference themselves are then imported again.
"""

from __future__ import annotations

import importlib
import runpy
import sys
from contextlib import suppress
from pathlib import Path

from reference.variants.edits import import_edited
from tools.mutation.service.tracing import trace

_SERVICES = ("gateway", "rail", "agent", "control_plane", "addons.zkp_receipt")

for _name in _SERVICES:
    with suppress(Exception):  # the service that is run will say what is wrong
        importlib.import_module(f"reference.{_name}.__main__")


def main(words: list[str]) -> None:
    """Run the service that the words name."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "reference"]:
        del sys.modules[name]
    if words[0] == "replace":
        import_edited({words[1]: Path(words[2]).read_text("utf-8")})
        words_left = words[3:]
    else:
        trace(words[1])
        words_left = words[2:]
    sys.argv = words_left
    runpy.run_module(words_left[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(sys.argv[1:])
