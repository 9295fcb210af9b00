"""`weldproof doctor`: lists what is missing on this machine, what each missing part disables, and the remedy."""

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

# The oldest supported version.
PYTHON: Final = (3, 11)
PORTS: Final[Mapping[str, int]] = {
    **{name: port for lane in FACTS.values() for name, port in lane.ports.items()},
    "rail": 8402,
    "gateway": 8090,
    "agent": 8403,
}
# Time-out of a program that is asked whether it works.
_SECONDS: Final = 10
_STYLES: Final = {"ok": "green", "missing": "red", "absent": "yellow", "in use": "yellow"}


@click.command("doctor")
@click.option("--config", type=click.Path(path_type=Path, dir_okay=False), help="Target profile to check as well.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(ctx: click.Context, config: Path | None, as_json: bool) -> None:
    """List programs and packages that are missing on this machine, and what each one disables.

    Also checks the webhook destinations of the profile: --config, or ./weldproof.toml if it exists. Calls no node and
    no server.

    Exit codes: 0 nothing required is missing, 1 something required is missing, 2 usage.
    """
    from conformance.cli.doctor.webhook_destinations import check_named_destinations  # noqa: PLC0415 - not needed for `--help`

    findings = (*examine(), *check_named_destinations(config))
    healthy = all(finding.state != "missing" for finding in findings)
    if as_json:
        value = {"healthy": healthy, "findings": [asdict(finding) for finding in findings]}
        print_json(value)
    else:
        _show(findings)
    ctx.exit(0 if healthy else 1)


def examine() -> Iterator[Finding]:
    """Yield a finding for each part, required ones first."""
    # Without a suitable Python the other results mean little.
    yield check_python(sys.version_info[:3])
    yield check_libraries(requires("weldproof") or ())
    yield from (check_extra(name) for name in extras.FOR)
    yield check_program(
        "PostgreSQL",
        postgres.find_installed(),
        disables="the tests of the PostgreSQL store; SQLite, the default, needs nothing",
        remedy=f"{postgres.REMEDY}; the tests download it automatically",
    )
    yield check_program(
        "Chromium",
        chromium.find_installed(),
        disables="checks that open a checkout page in a browser",
        remedy=f"{chromium.REMEDY}; the tests download it automatically",
    )
    yield check_program(
        "Node.js",
        node.find_installed(),
        disables="nothing: real nodes (`weldproof localnet doctor`) and tests download it when they need it",
        remedy=f"{node.REMEDY}, if PyPI cannot be reached",
    )
    yield check_container_engine()
    yield check_network_namespaces()
    for name, port in PORTS.items():
        yield check_port(name, port)


def check_python(running_version: tuple[int, ...]) -> Finding:
    """Return whether the running Python is new enough."""
    version_text = ".".join(map(str, running_version))
    if running_version >= PYTHON:
        return Finding("Python", "ok", version_text)
    minimum = ".".join(map(str, PYTHON))
    return Finding("Python", "missing", version_text, "everything", f"install Python {minimum} or newer")


def check_libraries(requirement_lines: Iterable[str]) -> Finding:
    """Return whether each declared library is installed in an allowed version."""
    requirements = [Requirement(text) for text in requirement_lines]
    # A library of an extra has a marker with the extra's name, which is false here: extras are
    # optional.
    applicable = [
        requirement
        for requirement in requirements
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""})
    ]
    wrong = [
        f"{requirement.name}{requirement.specifier} ({unfit_version or 'missing'})"
        for requirement in applicable
        if (unfit_version := _find_unfit_version(requirement)) is not None
    ]
    if not wrong:
        return Finding("libraries", "ok", f"all {len(applicable)} present")
    return Finding("libraries", "missing", ", ".join(wrong), "the commands that use them", "pip install weldproof")


def check_extra(name: str) -> Finding:
    """Return whether an extra of the distribution is installed."""
    if extras.is_installed(name):
        return Finding(f"extra {name}", "ok", "installed")
    return Finding(f"extra {name}", "absent", "not installed", extras.FOR[name], f'pip install "weldproof[{name}]"')


def _find_unfit_version(requirement: Requirement) -> str | None:
    """Return None for a fitting library, the version of an unfit one, and an empty text for a missing one."""
    try:
        installed_version = version(requirement.name)
    except PackageNotFoundError:
        return ""
    return None if requirement.specifier.contains(installed_version, prereleases=True) else installed_version


def check_program(name: str, located_program: Program | None, *, disables: str, remedy: str) -> Finding:
    """Return which program was found, with its version."""
    if located_program is not None:
        return Finding(name, "ok", located_program.description)
    return Finding(name, "absent", f"neither on this machine nor in {cache.folder()}", disables, remedy)


def check_container_engine() -> Finding:
    """Return whether a container engine is installed and its daemon answers."""
    disables = "chain nodes that run in containers; the simulated chains need nothing"
    for name in ("docker", "podman"):
        program = shutil.which(name)
        if program is None:
            continue
        # The client alone can do nothing: `info` fails if the daemon does not run.
        if _answers([program, "info"]):
            return Finding("container engine", "ok", program)
        return Finding(
            "container engine", "absent", f"{program} is there but does not answer", disables, f"start {name}"
        )
    return Finding("container engine", "absent", "no docker and no podman", disables, "install docker or podman")


def check_network_namespaces() -> Finding:
    """Return whether a process can be started without access to any network."""
    program = shutil.which("unshare")
    if program is not None and _answers([program, "--map-root-user", "--net", "--", "true"]):
        return Finding("network namespaces", "ok", program)
    problem = "no unshare" if program is None else f"{program} may not create one"
    disables = "AGENT-VERIFY-20 on the reference stack, and CP-CONF-01, -06 and -07, which are documented without it"
    remedy = "install util-linux" if program is None else "allow unprivileged user namespaces, or run as root"
    return Finding("network namespaces", "absent", problem, disables, remedy)


def _answers(words: Sequence[str]) -> bool:
    try:
        process = subprocess.run(words, capture_output=True, timeout=_SECONDS, check=False)  # noqa: S603 - fixed words
    except (OSError, subprocess.TimeoutExpired):
        return False
    return process.returncode == 0


def check_port(name: str, port: int) -> Finding:
    """Return whether the default port of a service of `weldproof up` is free."""
    with socket.socket() as probe:
        # As servers do: a port whose last connections have just ended counts as free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as fault:
            disables = "`weldproof up` on its usual ports; `weldproof run` chooses free ports"
            remedy = "nothing if your own services listen there; else `weldproof up --port-base 0` takes free ports"
            return Finding(f"port {port} ({name})", "in use", fault.strerror or "taken", disables, remedy)
    return Finding(f"port {port} ({name})", "ok", "free")


def _show(findings: Sequence[Finding]) -> None:
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        state = click.style(f"{finding.state:7}", fg=_STYLES[finding.state])
        click.echo(f"{state}  {finding.name:{width}}  {finding.found}")
        if finding.state != "ok":
            click.echo(f"{'':{width + 11}}disables: {finding.disables}")
            click.echo(f"{'':{width + 11}}to do: {finding.remedy}")
