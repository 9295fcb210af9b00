"""CP-CONF-01, -02 and -06: an isolated control plane: its default port and folder, and its outbound calls."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

from conformance.engine.check import Case, check
from conformance.engine.quick_policy import OWN_PROCESSES
from conformance.outcome import Inconclusive
from conformance.processes.launching import Program
from conformance.processes.sandbox import Destination, EnclosedProgram, run_enclosed
from conformance.surfaces.control_plane.access import Hub, Issuer, is_success, serving_hub
from conformance.surfaces.control_plane.services import OK_REPLY, play_service
from conformance.surfaces.control_plane.starting import TOKEN_FILE, hub_program, token_in
from conformance.target.hub import HUB_PORT
from conformance.webhook_receiver.raw_receiver import Reply

# Addresses that are reserved for documentation (RFC 5737). The names below are under `.example`, which no public name
# server resolves (RFC 2606).
_NOWHERE = ("192.0.2.10", "192.0.2.20", "192.0.2.30")
_SETTLES_SECONDS = 5.0
ANSWERS_SECONDS = 100.0
_DNS = 53


@asynccontextmanager
async def _enclosed_hub(
    case: Case, program: Program, folder: str, services: Collection[int] = ()
) -> AsyncIterator[tuple[Hub, EnclosedProgram, bool]]:
    """Start a control plane in an enclosure without any setting of ports; `folder` is its data directory under /app.

    Yields it, its enclosure, and whether it answered at the default port.
    """
    names = case.client.names
    async with run_enclosed(
        _drop_data_folder(program.without_port_settings), names, ports=(HUB_PORT,), services=services
    ) as inside:
        url = inside.urls[HUB_PORT]
        names.secret(url.removeprefix("http://"), "HUB_ADDRESS")
        answers = await inside.answers(HUB_PORT, ANSWERS_SECONDS)
        token = token_in(inside.app / folder)
        if token is not None:
            names.secret(token, "ADMIN_TOKEN")
        hub = Hub(case, url, case.profile.hub_bindings, token)
        if not answers and inside.is_over:
            raise Inconclusive(f"the control plane ended: {inside.output_end}")
        yield hub, inside, answers


def _drop_data_folder(program: Program) -> Program:
    """Remove the settings that contain `{data_dir}`, so that the program uses its default data directory."""
    settings = {name: value for name, value in program.environment.items() if "{data_dir}" not in value}
    return replace(program, environment=settings)


@check(
    "CP-CONF-01",
    "CP-CONF-02",
    surface="control_plane",
    self_contained=True,
    fix="Without a setting listen at 8094, and keep everything in /app/data.",
    quick=OWN_PROCESSES,
)
async def defaults_are_those_of_the_interface(case: Case) -> None:
    """Without a setting the control plane listens on port 8094 and keeps its data in /app/data.

    Starts it in separate namespaces, where no port is taken and /app is an empty folder, without a configured port or
    data directory. Expects health at 8094, and admin_token in /app/data.
    """
    program = hub_program(case)
    async with _enclosed_hub(case, program, "data") as (hub, inside, answers):
        if not answers:
            case.expect("CP-CONF-01", False, f"listens at {HUB_PORT}", f"nothing answers there: {inside.output_end}")
            case.mark_inconclusive("CP-CONF-02", "it does not listen at its default port, which CP-CONF-01 judges")
            return
        answer = await hub.call("GET", "/health")
        case.expect("CP-CONF-01", answer.status == 200, f"health at {HUB_PORT}", answer.status, exchange=answer)
        finding = "there" if hub.token else "not there"
        case.expect("CP-CONF-02", hub.token is not None, f"{TOKEN_FILE} in /app/data", finding)


@check(
    "CP-CONF-06",
    surface="control_plane",
    fix="Call only registered health addresses: do not resolve a DID, follow a redirect or query a name server.",
    quick=OWN_PROCESSES,
)
async def only_health_addresses_are_called(case: Case) -> None:
    """The control plane makes no outbound calls but to registered health addresses.

    Starts it in a network namespace where every address is recorded and no host is reached. Registers issuers whose
    DIDs name a host. Registers services of the suite, one of which redirects elsewhere, with further addresses in their
    registrations. Then reads every document and waits. Expects no call outside the machine, and none to the planted
    addresses, from the start on.
    """
    async with AsyncExitStack() as stack:
        healthy_service = await play_service(case, stack, "well", OK_REPLY)
        # A redirect is the simplest way to make a careless client call an address that was never registered.
        elsewhere = Reply(302, (("Location", f"http://{_NOWHERE[0]}:8080/health"),))
        redirecting_service = await play_service(case, stack, "redirecting", elsewhere)
        # The form of a registration cannot be discovered inside the enclosure, so it is taken from the running control
        # plane, if the profile has one.
        running_hub = await serving_hub(case) if "control_plane" in case.profile.surfaces else None
        program = hub_program(case).with_environment(S2CP_DATA_DIR="/app/data")
        ports = (healthy_service.receiver.port, redirecting_service.receiver.port)
        hub, inside, _ = await stack.enter_async_context(_enclosed_hub(case, program, "data", ports))
        if hub.token is None:
            raise Inconclusive(f"the control plane did not come up at its default port: {inside.output_end}")
        hub = hub if running_hub is None else replace(hub, bindings=running_hub.bindings)
        await _register_planted(hub, case)
        for service in (healthy_service, redirecting_service):
            # If the hub refuses the additional members, the plain registration has to do.
            body = {**hub.service_body(service), "callback": f"http://{_NOWHERE[1]}:8080/", "jku": _plant_address(case)}
            if not is_success(await hub.admin("POST", "/v1/services", json_body=body)):
                await hub.register_service(service)
        for path in ("/v1/posture", "/health", "/v1/issuer-pks", "/.well-known/atb-keys.json"):
            await hub.call("GET", path)
        is_called = await healthy_service.wait_for_call(hub.bindings.propagation_budget)
        # A background task may resolve a DID some seconds after the registration.
        await asyncio.sleep(_SETTLES_SECONDS)
        # A control: without any call to a registered address, the absence of other calls proves nothing.
        if not is_called:
            raise Inconclusive("the control plane did not call a registered health address, which CP-SVC-03 judges")
        forbidden_calls = [one.description for one in inside.calls if _is_outbound(one, case)]
        case.expect(
            "CP-CONF-06",
            not forbidden_calls,
            "registered health addresses only",
            forbidden_calls or "no other address was called",
        )
        name_queries = [
            one.description for one in inside.calls if one.port == _DNS and one.description not in forbidden_calls
        ]
        if name_queries:
            case.note(f"name servers were queried for other names: {', '.join(sorted(set(name_queries)))}")


def _planted_host(case: Case) -> str:
    return f"planted-{case.session.nonce}.example"


def _plant_address(case: Case) -> str:
    case.client.names.name(_planted_host(case), "PLANTED_HOST")
    case.client.names.name(f"3A{_planted_host(case)}", "PLANTED_HOST")  # behind a colon in a path, written %3A
    return f"http://{_planted_host(case)}/keys.json"


async def _register_planted(hub: Hub, case: Case) -> None:
    """Register issuers whose DIDs could be resolved, and revoke one."""
    _plant_address(case)
    for did in (f"did:web:{_planted_host(case)}", f"did:web:{_NOWHERE[2]}%3A8080:issuers:first"):
        await hub.register(Issuer(did, hub.new_key("planted")))
    await hub.revoke(f"did:web:{_planted_host(case)}")


def _is_outbound(call: Destination, case: Case) -> bool:
    """Return whether a call is forbidden. Queries to a name server count only if they are about a planted name."""
    if call.protocol == "udp" and call.port == _DNS:
        return call.name.endswith(_planted_host(case))
    return not call.loopback
