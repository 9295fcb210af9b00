"""Mutants of the control plane's services and of their posture (7.1, 7.3)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from ipaddress import ip_network
from typing import Any

from reference.control_plane import app, posture
from reference.control_plane.asking import Finding, HealthAsker
from reference.control_plane.calls import Call
from reference.control_plane.posture import Posture
from reference.control_plane.services import NewService, ServiceRegister
from reference.variants.mutants.control_plane_audit import Answer, hub_mutant, retold
from reference.variants.seams import replace
from reference.web.errors import Refused
from reference.web.exchange import Reply
from reference.web.resolving import AddressCheck

_FINE = Finding(200, 1, None)


def _listed(change: Callable[[list[Any]], list[Any]]) -> Callable[[], None]:
    return retold(Posture, "show", lambda told: {**told, "services": change(told["services"])})


def _shown(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[], None]:
    return _listed(lambda services: list(map(change, services)))


def _found(change: Callable[[str, Finding], Finding]) -> Callable[[], None]:
    """Return what finds something else than an address answered."""

    def asking(ask: Callable[..., Awaitable[Finding]]) -> Callable[..., Awaitable[Finding]]:
        async def asked(self: HealthAsker, address: str) -> Finding:
            return change(address, await ask(self, address))

        return asked

    return lambda: replace(HealthAsker, "__call__", asking)


def _address(change: Callable[[str], str]) -> Callable[[], None]:
    """Return what asks another address than the registered one."""

    def asking(ask: Callable[..., Awaitable[Finding]]) -> Callable[..., Awaitable[Finding]]:
        async def asked(self: HealthAsker, address: str) -> Finding:
            return await ask(self, change(address))

        return asked

    return lambda: replace(HealthAsker, "__call__", asking)


def _usual_path_asked() -> None:
    """Ask every service at /health, whatever path it registered."""
    replace(posture, "health_address", lambda made: lambda base, _: made(base, "/health"))


def _nobody_asked() -> None:
    async def fine(self: HealthAsker, address: str) -> Finding:  # noqa: ARG001 - as it is called
        return _FINE

    replace(HealthAsker, "__call__", lambda _: fine)


def _first_finding_kept() -> None:
    kept: dict[str, Finding] = {}
    _found(kept.setdefault)()


def _never_back() -> None:
    """Whoever was found ill once stays so."""
    ill: dict[str, Finding] = {}

    def found(address: str, finding: Finding) -> Finding:
        if finding.error is not None:
            ill[address] = finding
        return ill.get(address, finding)

    _found(found)()


def _without_a_time() -> None:
    """Wait for an answer for as long as it takes."""

    def made(initialise: Callable[..., None]) -> Callable[..., None]:
        def initialised(self: HealthAsker, agent: str, check: AddressCheck, *, seconds: float) -> None:
            initialise(self, agent, check, seconds=max(seconds, 3600.0))

        return initialised

    replace(HealthAsker, "__init__", made)
    posture.WHOLE_SECONDS = 3600.0


def _listed_again() -> None:
    """List a service once for each time that it registered."""
    times: dict[str, int] = {}

    def registering(register: Answer) -> Answer:
        async def registered(self: ServiceRegister, call: Call) -> Reply:
            times[call.content.name] = times.get(call.content.name, 0) + 1
            return await register(self, call)

        return registered

    replace(ServiceRegister, "register", registering)
    _listed(lambda services: [one for one in services for _ in range(times.get(one["name"], 1))])()


def _refusing() -> None:
    """Register nobody but addons of our own."""

    def registering(register: Answer) -> Answer:
        async def registered(self: ServiceRegister, call: Call) -> Reply:
            if not call.content.name.startswith("weldproof-"):
                raise Refused(403, "forbidden", "not one of ours")
            return await register(self, call)

        return registered

    replace(ServiceRegister, "register", registering)


def _redirects_followed() -> None:
    """Ask where an answer sends to, wherever that is."""
    anywhere = AddressCheck(allow_loopback=True, allowed=(ip_network("0.0.0.0/0"),))
    follower = HealthAsker("follower/1", anywhere, seconds=2)

    def asking(ask: Callable[..., Awaitable[Finding]]) -> Callable[..., Awaitable[Finding]]:
        async def asked(self: HealthAsker, address: str) -> Finding:
            finding = await ask(self, address)
            return await ask(follower, "http://192.0.2.10:8080/health") if finding.status == 302 else finding

        return asked

    replace(HealthAsker, "__call__", asking)


def _health_path_anywhere() -> None:
    """Take any text for a path and put it behind the address, so that `@host` names another host."""

    class AnyPath(NewService):
        health_path: str = "/health"

    setattr(app, "NewService", AnyPath)  # noqa: B010 - a rule that is dropped


def _is_healthy(one: Mapping[str, Any], healthy: bool) -> dict[str, Any]:
    return {**one, "healthy": healthy}


MUTANTS = (
    hub_mutant("service-refused", "the token registers services (7.1)", _refusing),
    hub_mutant("service-unlisted", "a registered service is listed (7.3)", _listed(lambda _: [])),
    hub_mutant("service-listed-again", "a service is listed once (7.1)", _listed_again),
    hub_mutant("nobody-asked", "each health address is asked (7.3)", _nobody_asked),
    hub_mutant(
        "asks-the-root", "the registered path is asked (7.3)", _address(lambda one: "/".join(one.split("/")[:3]) + "/")
    ),
    hub_mutant("asks-usual-path", "the registered path is asked (7.3)", _usual_path_asked),
    hub_mutant("any-status-healthy", "200 alone is healthy (7.3)", _found(lambda _, one: _FINE if one.status else one)),
    hub_mutant(
        "away-is-healthy", "who is away is not healthy (7.3)", _found(lambda _, one: one if one.status else _FINE)
    ),
    hub_mutant("never-healthy", "200 is healthy (7.3)", _shown(lambda one: _is_healthy(one, False))),
    hub_mutant("first-finding-kept", "the posture follows (7.3)", _first_finding_kept),
    hub_mutant("never-back", "recovery is shown (7.3)", _never_back),
    hub_mutant("asks-for-ever", "two seconds each (7.3)", _without_a_time),
    hub_mutant("health-path-anywhere", "a health path names no other host (7.1)", _health_path_anywhere),
    hub_mutant("redirects-followed", "no redirect is followed (C-05)", _redirects_followed),
)
