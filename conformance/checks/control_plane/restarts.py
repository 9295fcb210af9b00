"""CP-CONF-05: revocations and new keys survive a restart, and the log continues as one chain."""

from __future__ import annotations

from contextlib import AsyncExitStack

from conformance.assertions.audit_log import find_broken_link
from conformance.engine.check import Case, check
from conformance.engine.quick_policy import OWN_PROCESSES
from conformance.oracles import audit_chain
from conformance.outcome import Inconclusive
from conformance.surfaces.control_plane import document_reader
from conformance.surfaces.control_plane.access import Hub, Issuer, is_success
from conformance.surfaces.control_plane.log_reading import read_log
from conformance.surfaces.control_plane.starting import data_folder, started_hub


@check(
    "CP-CONF-05",
    surface="control_plane",
    self_contained=True,
    fix="Store revocations and new keys like registrations, and read the last MAC from the store at the start.",
    quick=OWN_PROCESSES,
)
async def a_restart_brings_nothing_back(case: Case) -> None:
    """A revoked issuer stays revoked after a restart, a new key stays, and the log continues as one chain.

    Registers two issuers with a control plane that the suite starts. Revokes one and gives the other a new key, if it
    accepts one. Restarts it and registers a third. Expects the same trust set, every entry of the log unchanged, and
    the entries after the start linked to those before it, if entries name their predecessor.
    """
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(data_folder())
        async with started_hub(case, folder) as instance:
            hub = instance.hub
            revoked_issuer, changed_issuer = hub.new_issuer("gone"), hub.new_issuer("changed")
            new_key_issuer = Issuer(changed_issuer.did, hub.new_key("changed"))
            for issuer in (revoked_issuer, changed_issuer):
                if not is_success(await hub.register(issuer)):
                    raise Inconclusive("the control plane that was started registers no issuer, which other rows judge")
            await hub.revoke(revoked_issuer.did)
            await hub.register(new_key_issuer)
            trust_set_before = await hub.trust_set()
            log = await read_log(hub)
        async with started_hub(case, folder) as instance:
            hub = instance.hub
            trust_set = await hub.trust_set()
            finding = "still revoked" if revoked_issuer.did not in trust_set else "trusted again"
            case.expect(
                "CP-CONF-05",
                (revoked_issuer.did in trust_set) == (revoked_issuer.did in trust_set_before),
                "still revoked",
                finding,
            )
            key = trust_set.get(changed_issuer.did)
            finding = (
                "its last key"
                if key == trust_set_before.get(changed_issuer.did)
                else "an earlier key"
                if key
                else "gone"
            )
            case.expect("CP-CONF-05", key == trust_set_before.get(changed_issuer.did), "its last key", finding)
            later_issuer = hub.new_issuer("later")
            if not is_success(await hub.register(later_issuer)):
                raise Inconclusive("after a restart no issuer can be registered, which other rows judge")
            await _judge_log(case, hub, log, later_issuer)


async def _judge_log(case: Case, hub: Hub, before: list[audit_chain.Entry], later_issuer: Issuer) -> None:
    log = await read_log(hub)
    is_continued = log[: len(before)] == before and any(
        document_reader.mentions(one, later_issuer.did) for one in log[len(before) :]
    )
    finding = "as it was, and goes on" if is_continued else "another, or it does not go on"
    case.expect("CP-CONF-05", is_continued, "the log as it was, and an entry more", finding)
    # A hub that starts a new chain after a restart hides everything that was removed before it.
    chain = hub.bindings.audit_chain
    if chain is not None and chain.prev is not None:
        fault = find_broken_link(log, chain)
        case.expect("CP-CONF-05", fault is None, "one chain over the restart", fault or "it is one")
    elif audit_chain.find_links(before):
        holds = bool(audit_chain.find_links(log))
        finding = "it is one" if holds else "no member links every entry any more"
        case.expect("CP-CONF-05", holds, "one chain over the restart", finding)
