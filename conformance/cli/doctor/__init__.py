"""`weldproof doctor`: what is missing on this machine, what that disables, and what to do."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Final

import click
from packaging.requirements import Requirement

from conformance import extras
from conformance.cli.doctor.finding import Finding
from conformance.cli.json_output import print_json
from conformance.vocabulary.lanes.registry import FACTS
from programs import cache, chromium, node, postgres
from programs.found import Program

PYTHON: Final = (3, 11)
PORTS: Final[Mapping[str, int]] = {
    **{name: port for lane in FACTS.values() for name, port in lane.ports.items()},
    "rail": 8402,
    "gateway": 8090,
    "agent": 8403,
}
_SECONDS: Final = 10
_STYLES: Final = {"ok": "green", "missing": "red", "absent": "yellow"}


@click.command("doctor")
@click.option("--config", type=click.Path(path_type=Path, dir_okay=False), help="Target profile to check as well.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(ctx: click.Context, config: Path | None, as_json: bool) -> None:
    """List programs and packages that are missing on this machine, and what each one disables.

    Also checks the webhook destinations of the profile: --config, or ./weldproof.toml if it exists.

    Exit codes: 0 nothing required is missing, 1 something required is missing, 2 usage.
    """
    from conformance.cli.doctor.profile import destinations_named  # noqa: PLC0415 - `--help` waits for nothing of it

    findings = (*examine(), *destinations_named(config))
    healthy = all(finding.state != "missing" for finding in findings)
    if as_json:
        value = {"healthy": healthy, "findings": [asdict(finding) for finding in findings]}
        print_json(value)
    else:
        _show(findings)
    ctx.exit(0 if healthy else 1)


def examine() -> Iterator[Finding]:
    """Look at everything, what is required first."""
    yield python(sys.version_info[:3])
    yield libraries(requires("weldproof") or ())
    yield from (extra(name) for name in extras.FOR)
    yield program(
        "PostgreSQL",
        postgres.found(),
        disables="the tests of the PostgreSQL store; SQLite, the default, needs nothing",
        remedy=f"{postgres.REMEDY}; the tests download it automatically",
    )
    yield program(
        "Chromium",
        chromium.found(),
        disables="checks that open a payment page in a browser; no check of the rail",
        remedy=f"{chromium.REMEDY}; the tests download it automatically",
    )
    yield program(
        "Node.js",
        node.found(),
        disables="nothing: real nodes (`weldproof localnet doctor`) and tests download it when they need it",
        remedy=f"{node.REMEDY}, where PyPI is not reached",
    )
    yield container_engine()
    yield network_namespaces()
    for name, port in PORTS.items():
        yield free_port(name, port)


def python(running: tuple[int, ...]) -> Finding:
    """Say whether the running Python is new enough."""
    found = ".".join(map(str, running))
    if running >= PYTHON:
        return Finding("Python", "ok", found)
    wanted = ".".join(map(str, PYTHON))
    return Finding("Python", "missing", found, "everything", f"install Python {wanted} or newer")


def libraries(declared: Iterable[str]) -> Finding:
    """Say whether every library that the distribution declares is there, in a version it allows."""
    wanted = [Requirement(text) for text in declared]
    needed = [one for one in wanted if one.marker is None or one.marker.evaluate({"extra": ""})]
    wrong = [
        f"{one.name}{one.specifier} ({found or 'missing'})" for one in needed if (found := _unfit(one)) is not None
    ]
    if not wrong:
        return Finding("libraries", "ok", f"all {len(needed)} present")
    return Finding("libraries", "missing", ", ".join(wrong), "the commands that use them", "pip install weldproof")


def extra(name: str) -> Finding:
    """Say whether an extra of the distribution is installed."""
    if extras.is_installed(name):
        return Finding(f"extra {name}", "ok", "installed")
    return Finding(f"extra {name}", "absent", "not installed", extras.FOR[name], f'pip install "weldproof[{name}]"')


def _unfit(wanted: Requirement) -> str | None:
    """Return the installed version when it does not fit, empty when there is none, None when it fits."""
    try:
        found = version(wanted.name)
    except PackageNotFoundError:
        return ""
    return None if wanted.specifier.contains(found, prereleases=True) else found


def program(name: str, found: Program | None, *, disables: str, remedy: str) -> Finding:
    """Say which program was found, and its version."""
    if found is not None:
        return Finding(name, "ok", found.description)
    return Finding(name, "absent", f"neither on this machine nor in {cache.folder()}", disables, remedy)


def container_engine() -> Finding:
    """Look for a container engine whose daemon answers."""
    disables = "chain nodes that run in containers; the simulated chains need nothing"
    for name in ("docker", "podman"):
        program = shutil.which(name)
        if program is None:
            continue
        if _answers([program, "info"]):
            return Finding("container engine", "ok", program)
        return Finding(
            "container engine", "absent", f"{program} is there but does not answer", disables, f"start {name}"
        )
    return Finding("container engine", "absent", "no docker and no podman", disables, "install docker or podman")


def network_namespaces() -> Finding:
    """Look whether a process may be started where it reaches no network."""
    program = shutil.which("unshare")
    if program is not None and _answers([program, "--map-root-user", "--net", "--", "true"]):
        return Finding("network namespaces", "ok", program)
    found = "no unshare" if program is None else f"{program} may not create one"
    disables = "AGENT-VERIFY-20 on the reference stack, and CP-CONF-01, -06 and -07, which are documented without it"
    remedy = "install util-linux" if program is None else "allow unprivileged user namespaces, or run as root"
    return Finding("network namespaces", "absent", found, disables, remedy)


def _answers(words: Sequence[str]) -> bool:
    try:
        ended = subprocess.run(words, capture_output=True, timeout=_SECONDS, check=False)  # noqa: S603 - fixed words
    except (OSError, subprocess.TimeoutExpired):
        return False
    return ended.returncode == 0


def free_port(name: str, port: int) -> Finding:
    """Say whether `weldproof up` could listen where it listens by default."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as fault:
            disables = "`weldproof up` on its usual ports; `weldproof run` chooses free ports"
            remedy = "end the program that listens there, or use `weldproof up --port-base 0`"
            return Finding(f"port {port} ({name})", "absent", fault.strerror or "taken", disables, remedy)
    return Finding(f"port {port} ({name})", "ok", "free")


def _show(findings: Sequence[Finding]) -> None:
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        state = click.style(f"{finding.state:7}", fg=_STYLES[finding.state])
        click.echo(f"{state}  {finding.name:{width}}  {finding.found}")
        if finding.state != "ok":
            click.echo(f"{'':{width + 11}}disables: {finding.disables}")
            click.echo(f"{'':{width + 11}}to do: {finding.remedy}")
