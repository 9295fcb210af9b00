"""Mutants of the console commands that are installed with the bundled services (section 9)."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from pathlib import Path

import orjson

from reference.variants.mutants.mutant import Mutant

_SERVICE = "control_plane"
_ADDONS = "reference.addons."
_LINES = '#!/bin/sh\nexec {python} -m {module} "$@"\n'


def _clean() -> Mapping[str, str]:
    """Return the command of each addon that this distribution installs."""
    ours = (one for one in entry_points(group="console_scripts") if one.value.startswith(_ADDONS))
    return {one.value.removeprefix(_ADDONS).partition(".")[0]: one.name for one in ours}


def _install_commands(change: Callable[[str], str | None]) -> Callable[[], None]:
    """Return a function that installs commands under other names and binds them in the profile.

    Args:
        change: From a command's name to its new name; None if it is bound and not installed.
    """

    def apply() -> None:
        variant_file = os.environ.get("WP_VARIANT_FILE")
        if variant_file is None:
            return  # a control plane that a check has started: its commands are the stack's
        folder, bindings = Path(variant_file).with_suffix(""), dict[str, str]()
        folder.mkdir(exist_ok=True)
        for addon, name in _clean().items():
            new_name = change(name)
            path = folder / (new_name or name)
            if new_name is not None:
                python, module = shlex.quote(sys.executable), f"{_ADDONS}{addon}"
                path.write_text(_LINES.format(python=python, module=module))
                path.chmod(0o755)
            bindings[f"addons.{addon}.console"] = str(path)
        Path(variant_file).write_bytes(orjson.dumps({"bindings": bindings}))

    return apply


MUTANTS = (
    Mutant(
        "hub-commands-in-snake-case",
        "a console command is named <service>-<name> (section 9)",
        _install_commands(lambda name: name.replace("-", "_")),
        _SERVICE,
    ),
    Mutant(
        "hub-command-of-another-service",
        "console commands begin with the word of the service (section 9)",
        _install_commands(lambda name: name.replace("weldproof-federation", "hub-federation")),
        _SERVICE,
    ),
    Mutant(
        "hub-command-of-another-name",
        "a console command ends with the name of what it starts (section 9)",
        _install_commands(lambda name: name.replace("-federation", "")),
        _SERVICE,
    ),
    Mutant(
        "hub-command-away",
        "each bundled service has its console command (section 9)",
        _install_commands(lambda name: None if "federation" in name else name),
        _SERVICE,
    ),
)
