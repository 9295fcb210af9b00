"""What a probe concludes about an agent: only what its answers show."""

from __future__ import annotations

from typing import Any

from conformance.http.client import Client, Counter, Names
from conformance.log.events import EventLog
from conformance.surfaces.agent import EXPLAIN, VERIFY
from conformance.surfaces.agent.probing import DiscoveredAgent, probe_agent
from conformance.target import parse
from tests.conformance.checks.agent.scripted_agent import BASE, FOREIGN, Agent, Foreign, Look, Reply, at, run_check
from tests.conformance.checks.trial import find_broken_rows


async def probe_scripted(agent: Agent) -> DiscoveredAgent | None:
    """Return what a probe finds."""
    return await probe_agent(Client(agent, EventLog(), "init", Names(), Counter()), BASE)


async def test_the_familys_names_are_found() -> None:
    """Body, places of validity and errors, and the document's path are what the profile's table needs."""
    discovery = await probe_scripted(Agent(look=Look()))
    assert discovery is not None
    assert {
        "validity_at": "valid",
        "errors_at": "errors",
        "openapi_path": "/openapi.json",
    }.items() <= discovery.bindings.items()
    assert discovery.bindings["verify_body"]["path"] == "{path}"


async def test_other_names_are_found_by_what_they_say() -> None:
    """An envelope inside the body, validity as a word, errors as objects: recognised by answers that differ."""
    discovery = await probe_scripted(Agent(look=Foreign()))
    assert discovery is not None
    assert (discovery.bindings["validity_at"], discovery.bindings["errors_at"]) == ("report.outcome", "report.problems")
    assert set(discovery.bindings["verify_body"]) == {"message", "public_key_hex", "did_key"}


async def test_a_member_that_says_only_part_of_it_is_not_taken_for_validity() -> None:
    """The equation's own member and a constant `ok` stand beside the verdict; the body tells them apart."""

    def deep(document: dict[str, Any]) -> dict[str, Any]:
        valid, errors = document["valid"], document["errors"]
        of_body = any("content" in text for text in errors)
        return {"ok": True, "signature_valid": valid or of_body, "told": {"holds": valid}, "errors": errors}

    discovery = await probe_scripted(Agent(at(VERIFY, deep)))
    assert discovery is not None
    assert discovery.bindings["validity_at"] == "told.holds"


async def test_an_explanation_may_say_its_verdict_at_a_place_of_its_own() -> None:
    """Where explain has no validity as verify has it, the place that tells the messages apart is its verdict."""

    def change_words(document: dict[str, Any]) -> dict[str, Any]:
        valid, errors = document["valid"], document["errors"]
        other_members = {name: value for name, value in document.items() if name not in {"valid", "verdict"}}
        of_body = any("content" in text for text in errors)
        return {
            **other_members,
            "ok": True,
            "signature_valid": bool(valid) or of_body,
            "says": "pass" if valid else "fail",
        }

    discovery = await probe_scripted(Agent(at(EXPLAIN, change_words)))
    assert discovery is not None
    assert (discovery.bindings["validity_at"], discovery.bindings["verdict_at"]) == ("valid", "says")
    assert (
        find_broken_rows(await run_check("explanations_say_pass_or_fail", Agent(at(EXPLAIN, change_words)), FOREIGN))
        == set()
    )


async def test_an_explanation_that_says_it_as_verify_does_needs_no_place() -> None:
    """What verify's place tells is not asked for again."""
    discovery = await probe_scripted(Agent(look=Look()))
    assert discovery is not None
    assert "verdict_at" not in discovery.bindings


async def test_a_server_without_verify_is_no_agent() -> None:
    """404 for verify says that it is something else."""
    assert await probe_scripted(Agent(lambda call, reply: Reply(404, {}) if call.path == VERIFY else reply)) is None


async def test_an_agent_that_nobody_understands_is_still_one() -> None:
    """Its document is found, its names are left to the operator."""
    discovery = await probe_scripted(
        Agent(lambda call, reply: Reply(422, {"detail": []}) if call.path == VERIFY else reply)
    )
    assert discovery is not None
    assert discovery.bindings == {"openapi_path": "/openapi.json"}


def test_a_profile_takes_the_agents_table() -> None:
    """Bindings of the file go over the reference's, which others do not get."""
    ours = parse('[target]\ndefaults = "reference"\n[agent]\nvalidity_at = "ok"\n')
    assert (ours.agent_bindings.validity_at, ours.agent_bindings.errors_at) == ("ok", "errors")
    assert parse("").agent_bindings.errors_at is None
