"""The distribution's metadata are right: licence, classifiers, typing, and only addresses that exist."""

from __future__ import annotations

import hashlib
import tomllib
from fnmatch import fnmatch
from pathlib import Path

from packaging.licenses import canonicalize_license_expression
from trove_classifiers import classifiers

ROOT = Path(__file__).parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT = PYPROJECT["project"]
# The Apache Software Foundation's own text, byte for byte.
APACHE_2 = "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30"


def test_the_licence_is_apaches_own_text() -> None:
    """LICENSE is the unchanged text, and the metadata names it by its SPDX expression."""
    assert hashlib.sha256((ROOT / "LICENSE").read_bytes()).hexdigest() == APACHE_2
    assert canonicalize_license_expression(PROJECT["license"]) == "Apache-2.0"
    assert PROJECT["license-files"] == ["LICENSE"]


def test_its_classifiers_exist() -> None:
    """Each classifier is one that the index takes, and none repeats the licence, which an expression rules out."""
    assert set(PROJECT["classifiers"]) <= classifiers
    assert not [one for one in PROJECT["classifiers"] if one.startswith("License ::")]
    assert PROJECT["classifiers"] == sorted(set(PROJECT["classifiers"]))
    assert PROJECT["keywords"] == sorted(set(PROJECT["keywords"]))


def test_every_package_of_the_wheel_is_typed() -> None:
    """Each top-level package that the wheel ships has `py.typed`, and the package data includes it."""
    patterns = PYPROJECT["tool"]["setuptools"]["packages"]["find"]["include"]
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    shipped_packages = {name for name in packages if any(fnmatch(name, pattern) for pattern in patterns)}
    assert shipped_packages
    assert [name for name in sorted(shipped_packages) if not (ROOT / name / "py.typed").is_file()] == []
    assert "py.typed" in PYPROJECT["tool"]["setuptools"]["package-data"]["*"]
    assert "Typing :: Typed" in PROJECT["classifiers"]


def test_it_names_no_invented_address() -> None:
    """No URL, author or e-mail address stands in the metadata until there is one that answers."""
    assert not {"urls", "authors", "maintainers"} & set(PROJECT)
