"""Loading of all checks, with placeholders for checks whose lane's extra is not installed."""

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

# Importing a module of these packages registers its checks. Nothing else lists them.
CHECK_PACKAGES = (
    "conformance.checks.rail",
    "conformance.checks.gateway",
    "conformance.checks.agent",
    "conformance.checks.control_plane",
    "conformance.checks.addons",
    "conformance.checks.webhooks",
    "conformance.checks.payer",
    "conformance.checks.shared",
)


def load_checks() -> tuple[Check, ...]:
    """Return every check of the suite, importing them when needed."""
    for package in CHECK_PACKAGES:
        import_module(package)
    return tuple(REGISTRY[name] for name in sorted(REGISTRY))


@asynccontextmanager
async def import_meanwhile() -> AsyncIterator[None]:
    """Import the checks one package at a time while the caller waits for something else, such as its target."""

    async def import_packages() -> None:
        for package in CHECK_PACKAGES:
            # In a thread: an import takes long on a busy machine, and an interrupt must not wait for it.
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
        path: The folders of its modules.

    Raises:
        ModuleNotFoundError: A module needs a distribution that is not installed and belongs to no extra.
    """
    for module in walk_packages(path, f"{package}."):
        name = module.name
        try:
            import_module(name)
        except ModuleNotFoundError as fault:
            reason = extras.reason(fault)
            if reason is None:
                raise
            # The checks of one lane use that lane's SDK, so their module cannot be imported without it. Name, rows
            # and lane are known from the catalogue. A placeholder with these makes the rows inconclusive: without it
            # they would have fewer checks, and could pass because a check is missing.
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
    """Return the checks whose lane or extra is not installed, with a sentence on what to install."""
    lanes = {name: lane.extra for name, lane in FACTS.items()}
    needed_extras = (
        (check, extra) for check in checks for extra in (lanes.get(check.lane or ""), check.extra) if extra is not None
    )
    return {check: extras.sentence(extra) for check, extra in needed_extras if not extras.is_installed(extra)}
