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
from conformance.engine.catalogue import Described, catalogue
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


def registered() -> tuple[Check, ...]:
    """Return every check of the suite, importing them when needed."""
    for package in CHECK_PACKAGES:
        import_module(package)
    return tuple(REGISTRY[name] for name in sorted(REGISTRY))


@asynccontextmanager
async def brought_in() -> AsyncIterator[None]:
    """Import the checks a package at a time while the caller waits for something else, such as its target."""

    async def each() -> None:
        for package in CHECK_PACKAGES:
            # In a thread: a signal must not wait for an import, which takes long on a busy machine.
            await asyncio.to_thread(import_module, package)

    task = asyncio.create_task(each())
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
            for described in (one for one in catalogue() if one.file == file):
                REGISTRY[described.id] = _standing_in(described, name, reason)


def _standing_in(described: Described, module: str, reason: str) -> Check:
    async def not_installed(case: Case) -> None:  # noqa: ARG001 - as every check
        raise Inconclusive(reason)

    not_installed.__doc__, not_installed.__name__, not_installed.__module__ = described.sentence, described.id, module
    one = described
    return Check(one.id, one.rows, one.surface, one.lane, one.exclusive, one.fix, not_installed, quick=one.quick)


def without_extra(checks: Iterable[Check]) -> dict[Check, str]:
    """Return those of the checks whose lane, or whose own extra, is not installed, each with what to install for it."""
    lanes = {name: lane.extra for name, lane in FACTS.items()}
    wanted = ((one, extra) for one in checks for extra in (lanes.get(one.lane or ""), one.extra) if extra is not None)
    return {one: extras.sentence(extra) for one, extra in wanted if not extras.is_installed(extra)}
