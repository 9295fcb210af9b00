"""The pinned requirements of each Python example: its packages and their dependencies.

`python -m tests.outside.example_requirements` writes `examples/requirements`, with the versions of the environment that
tests run in, which are those of uv.lock.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import distribution, packages_distributions
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement

EXAMPLES: Final = Path(__file__).parents[2] / "examples"
FOLDER: Final = EXAMPLES / "requirements"
SCRIPTS: Final = ("pay_with_algosdk.py", "pay_with_solana_py.py", "pay_with_web3py.py", "verifiers/pyjwt_verifier.py")
# PyJWT reads no Ed25519 key without it.
_EXTRAS: Final[Mapping[str, str]] = {"pyjwt": "pyjwt[crypto]"}


def file_of(script: str) -> Path:
    """Return where an example's requirements stand."""
    return FOLDER / f"{Path(script).stem}.txt"


def pin_requirements(script: str) -> str:
    """Return the requirements of an example: a package and its version a line, by name."""
    versions: dict[str, str] = {}
    for name in _list_imports(EXAMPLES / script):
        _add(Requirement(_EXTRAS.get(name, name)), versions)
    return "".join(f"{name}=={version}\n" for name, version in sorted(versions.items()))


def _list_imports(script: Path) -> Iterator[str]:
    """Yield the distributions that a script imports from."""
    homes = packages_distributions()
    for node in ast.walk(ast.parse(script.read_text("utf-8"))):
        names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        for name in {name.partition(".")[0] for name in names} - sys.stdlib_module_names:
            yield _normalise_name(homes[name][0])


def _add(requirement: Requirement, versions: dict[str, str]) -> None:
    name = _normalise_name(requirement.name)
    home = distribution(name)
    if name in versions and not requirement.extras:
        return
    versions[name] = home.version
    for text in home.requires or ():
        inner = Requirement(text)
        extras = [{"extra": extra} for extra in ("", *requirement.extras)]
        if inner.marker is None or any(inner.marker.evaluate(one) for one in extras):
            _add(inner, versions)


def _normalise_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for one in SCRIPTS:
        file_of(one).write_text(pin_requirements(one), "ascii")
