"""AGENT-VERIFY-20: verification needs no network."""

from __future__ import annotations

from conformance.assertions.agent.verdicts import describe_verdict, is_negative, is_positive
from conformance.engine.check import Case, check
from conformance.engine.quick_policy import COMPANION
from conformance.http.client import Unreachable
from conformance.oracles.message_signatures import keys
from conformance.outcome import ON_WORD, Inconclusive
from conformance.surfaces.agent import agent_of, signer
from conformance.surfaces.agent import subject as signed
from conformance.surfaces.agent.subjects import raw_public
from conformance.target.agent import same_address

_REASON = (
    "needs an agent that can reach no network: the suite's own stack starts one if it may create a network namespace; "
    "otherwise start one in that way and give its address as [agent] offline_url"
)


@check(
    "AGENT-VERIFY-20",
    surface="agent",
    fix="Verify from the request alone: resolve no keyid, fetch no key, query no time server and no name server.",
    quick=COMPANION,
)
async def verification_needs_no_network(case: Case) -> None:
    """Verification works with outbound network blocked.

    Verifies valid and wrong messages at an agent that can reach no network. Their key ids could be resolved (did:web,
    an address, did:key). Expects the right verdicts.
    """
    offline_url = case.profile.agent_bindings.offline_url
    if offline_url is None:
        case.mark_documented("AGENT-VERIFY-20", _REASON)
        return
    # The agent's usual address has a network, so a verdict from there would prove nothing.
    if same_address(offline_url, case.profile.surfaces["agent"].url):
        raise Inconclusive("[agent] offline_url is the agent's own address: give that of one that can reach no network")
    agent = (await agent_of(case)).at(offline_url)
    extra_labels = {} if agent.is_reference else {ON_WORD: "the agent at [agent] offline_url can reach no network"}
    owner, other_signer = signer(case), signer(case)
    # Key ids that invite a lookup: a document of did:web, an address, and a key inside the id itself.
    names = ("test-key", "did:web:keys.example.org#1", "https://keys.example.org/1", keys.did_key(raw_public(owner)))
    trials = [(name, valid) for name in names for valid in (True, False)]
    # An agent without a network may be the one of [limited.agent], whose limit another check uses up.
    async with case.session.limits_locks["agent"]:
        for name, valid in trials:
            subject = signed(case, owner, parameters={"keyid": name})
            variant = subject if valid else subject.with_expected_key(raw_public(other_signer))
            where = {**extra_labels, "keyid": name, "message": "sound" if valid else "another key"}
            requirement = f"200, {'valid' if valid else 'not valid'}"
            try:
                answer = await agent.verify(variant)
            except Unreachable as fault:
                # An agent that never answers is a wrong address in the profile. Only an agent that answers other calls
                # has failed here.
                await _require_answer(case, offline_url)
                case.expect("AGENT-VERIFY-20", False, requirement, fault, where=where)
                continue
            holds = is_positive(agent, answer) if valid else is_negative(agent, answer)
            finding = describe_verdict(agent, answer)
            case.expect("AGENT-VERIFY-20", holds, requirement, finding, exchange=answer, where=where)


async def _require_answer(case: Case, url: str) -> None:
    """Require that a server is at an address.

    Raises:
        Inconclusive: No server answers there.
    """
    try:
        if not case.client.has_answered(url):
            await case.client.call("GET", url)
    except Unreachable as fault:
        raise Inconclusive(f"nothing at [agent] offline_url answers: {fault}") from fault
