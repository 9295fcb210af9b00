"""Registering the checks of a package, those as well whose lane's extra is not installed.

A check of one lane is written in the words of that lane's own libraries, so its module cannot be imported without them.
Its name, rows and lane are in the catalogue: a check with these takes its place, which judges nothing and says what to
install. So every row has its checks whatever is installed, and none passes for want of one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from importlib import import_module
from pkgutil import walk_packages

from conformance import extras
from conformance.engine.catalogue import CheckDescription, load_catalogue
from conformance.engine.check import REGISTRY, Case, Check
from conformance.outcome import Inconclusive
from conformance.vocabulary.lanes.registry import FACTS

CHECK_PACKAGES = (
    "conformance.checks.rail",
    "conformance.checks.gateway",
    "conformance.checks.agent",
    "conformance.checks.control_plane",
    "conformance.checks.addons",
    "conformance.checks.webhooks",
    "conformance.checks.shared",
)


def load_checks() -> tuple[Check, ...]:
    """Return every check of the suite, importing them when needed."""
    for package in CHECK_PACKAGES:
        import_module(package)
    return tuple(REGISTRY[name] for name in sorted(REGISTRY))


@asynccontextmanager
async def import_meanwhile() -> AsyncIterator[None]:
    """Import the checks a package at a time while the caller waits for something else, such as its target."""

    async def import_packages() -> None:
        for package in CHECK_PACKAGES:
            # In a thread: a signal must not wait for an import, which takes long on a busy machine.
            await asyncio.to_thread(import_module, package)

    task = asyncio.create_task(import_packages())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def register_all(package: str, path: Iterable[str]) -> None:
    """Import every module of a package and of those inside, which registers its checks.

    Args:
        package: Its full name.
        path: Where its modules lie.

    Raises:
        ModuleNotFoundError: A module needs what is not installed and belongs to no extra.
    """
    for module in walk_packages(path, f"{package}."):
        name = module.name
        try:
            import_module(name)
        except ModuleNotFoundError as fault:
            reason = extras.reason(fault)
            if reason is None:
                raise
            file = f"{name.replace('.', '/')}.py"
            for description in (entry for entry in load_catalogue() if entry.file == file):
                REGISTRY[description.id] = _make_placeholder(description, name, reason)


def _make_placeholder(description: CheckDescription, module: str, reason: str) -> Check:
    async def not_installed(case: Case) -> None:  # noqa: ARG001 - as every check
        raise Inconclusive(reason)

    not_installed.__doc__, not_installed.__name__, not_installed.__module__ = (
        description.sentence,
        description.id,
        module,
    )
    one = description
    return Check(one.id, one.rows, one.surface, one.lane, one.exclusive, one.fix, not_installed, quick=one.quick)


def find_missing_extras(checks: Iterable[Check]) -> dict[Check, str]:
    """Return those of the checks whose lane, or whose own extra, is not installed, each with what to install for it."""
    lanes = {name: lane.extra for name, lane in FACTS.items()}
    needed_extras = (
        (check, extra) for check in checks for extra in (lanes.get(check.lane or ""), check.extra) if extra is not None
    )
    return {check: extras.sentence(extra) for check, extra in needed_extras if not extras.is_installed(extra)}
