"""CP-CONF-07 and -08: default ports and console commands of the bundled services."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

from conformance.engine.check import Case, check
from conformance.engine.quick_policy import OWN_PROCESSES
from conformance.processes.launching import Program, find_program
from conformance.processes.sandbox import run_enclosed
from conformance.surfaces.control_plane.played_hub import PlayedHub, played_hub
from conformance.surfaces.control_plane.services import HEALTH
from conformance.surfaces.control_plane.starting import AddonSubject, bundled_names, started_addon, subjects
from conformance.target.hub import PORTS

# Seconds. Generous, because a slow machine may need long for a first start.
ANSWERS_SECONDS = 100.0
# Lower-case words joined by hyphens; the first one is the service word.
_COMMAND = re.compile(r"([a-z0-9]+)((?:-[a-z0-9]+)+)")
# The interface's names of the bundled services, and the word by which a console command has to identify each.
_SERVICE_WORDS = {"federation_validator": "federation", "zkp_receipt": "receipt", "atb_verifier": "credential"}


@check(
    "CP-CONF-07",
    surface="control_plane",
    self_contained=True,
    fix="Without a setting listen at 8092 (federation validator), 8093 (ZK receipt) or 8095 (ATB credential verifier).",
    quick=OWN_PROCESSES,
)
async def bundled_services_have_their_ports(case: Case) -> None:
    """Each bundled service listens at its default port.

    Starts each in separate namespaces, where no port is taken, without a configured port. Expects health to answer 200
    at 8092, 8093 or 8095.
    """
    if not bundled_names(case):
        case.mark_not_applicable("CP-CONF-07", "the profile has no bundled services")
        return
    for subject in subjects(case, bundled_only=True):
        async with played_hub(case) as hub:
            await _judge_default_port(case, subject, hub)


async def _judge_default_port(case: Case, subject: AddonSubject, hub: PlayedHub) -> None:
    port, program = PORTS[subject.name], subject.program.without_port_settings
    # The default data directory, because the operator's own setting names a folder outside of the enclosure.
    environment = {name: value.replace("{data_dir}", "/app/data") for name, value in program.environment.items()}
    joining_program = Program(program.words, environment, port, program.title).with_environment(
        S2_HUB_URL=f"http://127.0.0.1:{hub.receiver.port}",
        S2_HUB_TOKEN=hub.token,
        S2_HUB_SELF_URL=f"http://127.0.0.1:{port}",
    )
    services = (hub.receiver.port,)
    async with run_enclosed(joining_program, case.client.names, ports=(port,), services=services) as inside:
        case.client.names.secret(inside.urls[port].removeprefix("http://"), "ADDON_ADDRESS")
        if not await inside.answers(port, ANSWERS_SECONDS):
            finding = f"nothing answers there: {inside.output_end}"
            case.expect("CP-CONF-07", False, f"health at {port}", finding, where=subject.where)
            return
        answer = await case.client.call("GET", inside.urls[port] + HEALTH)
        holds = answer.status == 200
        case.expect("CP-CONF-07", holds, f"health at {port}", answer.status, exchange=answer, where=subject.where)


@check(
    "CP-CONF-08",
    surface="control_plane",
    self_contained=True,
    fix="Install a console command for each bundled service, named <service>-<name>.",
    quick=OWN_PROCESSES,
)
async def bundled_commands_follow_the_pattern(case: Case) -> None:
    """Console commands of the bundled services follow the pattern <service>-<name>.

    Looks for each command that the profile names, and starts it. Expects lower-case words joined by hyphens, the same
    first word everywhere (the operator's service word if configured), a name that identifies the service, and health.
    """
    if not bundled_names(case):
        case.mark_not_applicable("CP-CONF-08", "the profile has no bundled services")
        return
    word = (case.profile.service_word or "").lower()
    for subject in subjects(case, bundled_only=True):
        console = subject.addon.console
        if console is None:
            case.mark_inconclusive("CP-CONF-08", f"unbound: give [addons.{subject.name}] console, the command's name")
            continue
        name = Path(console).name
        name_match = _COMMAND.fullmatch(name)
        # Without a configured service word, the first command sets the word that all others must share.
        word = word or (name_match[1] if name_match else "")
        holds = name_match is not None and name_match[1] == word and _SERVICE_WORDS[subject.name] in name_match[2]
        case.expect("CP-CONF-08", holds, f"{word or '<service>'}-<name>", name, where=subject.where)
        path = find_program(console, [str(Path(sys.executable).parent)])
        if path is None:
            case.expect("CP-CONF-08", False, "a command that is installed", f"no {console}", where=subject.where)
            continue
        installed_subject = replace(subject, addon=subject.addon.model_copy(update={"command": (path,)}))
        async with played_hub(case) as hub, started_addon(case, installed_subject, hub.url, hub.token) as process:
            answer = await case.client.call("GET", process.url + HEALTH)
            case.expect("CP-CONF-08", answer.status == 200, "200", answer.status, exchange=answer, where=subject.where)
