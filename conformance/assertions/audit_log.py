"""Whether an audit log is a valid chain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from conformance.engine.check import Case
from conformance.oracles import audit_chain
from conformance.outcome import Inconclusive
from conformance.surfaces import binding_hints
from conformance.surfaces.control_plane import document_reader
from conformance.surfaces.control_plane.access import Hub
from conformance.surfaces.control_plane.log_reading import refuse_full_page
from conformance.target import ProfileError
from conformance.target.hub import ChainNames

Entries = Sequence[Mapping[str, Any]]


# A chain of one entry has no link that could be judged.
_ENOUGH = 2


async def should_be_present(case: Case, hub: Hub, row: str, log: Entries) -> bool:
    """Return whether a missing entry should be in a log; if the log's page may be full, the row is inconclusive."""
    try:
        await refuse_full_page(hub, log)
    except Inconclusive as reason:
        case.mark_inconclusive(row, str(reason))
        return False
    return True


async def judge_links(case: Case, hub: Hub, log: Entries) -> None:
    """Judge by CP-AUDIT-04 whether each entry of a log links to the one before it.

    Raises:
        Inconclusive: The chain key is needed and missing, or the log's recipe is unknown.
    """
    if len(log) < _ENOUGH:
        case.expect("CP-AUDIT-04", False, "entries of the trust changes", f"{len(log)} entries")
        return
    chain = hub.bindings.audit_chain
    # With bound names the links are compared exactly; no guess is needed.
    if chain is not None and chain.prev is not None:
        fault_text = find_broken_link(log, chain)
        requirement, hint = "every entry linked to the one before it", binding_hints.of_chain(is_bound=True)
        case.expect("CP-AUDIT-04", fault_text is None, requirement, fault_text or "all are", hint=hint)
        return
    # Unbound: any two members that link every entry are accepted, because the interface names none.
    if audit_chain.find_links(log) or audit_chain.find_links(
        inner := [document_reader.flatten_entry(entry) for entry in log]
    ):
        case.expect("CP-AUDIT-04", True, "every entry linked to the one before it", "all are")
        return
    if not audit_chain.chain_values(inner):
        fault_text = "no value of an entry is in the next one, and none looks like a MAC"
        hint = binding_hints.of_chain(is_bound=chain is not None)
        case.expect("CP-AUDIT-04", False, "a chain value in every entry", fault_text, hint=hint)
        return
    form, key = await read_form(case, log)
    fault = audit_chain.first_fault(log, audit_chain.key_bytes(key, form.key), form)
    case.expect("CP-AUDIT-04", fault is None, "a chain", "it is one" if fault is None else fault.text)


def find_broken_link(log: Entries, chain: ChainNames) -> str | None:
    """Return the first broken link of a log by its bound names, or None."""
    previous_mac = chain.genesis
    for place, entry in enumerate(log):
        own_mac = entry.get(chain.mac)
        if not isinstance(own_mac, str) or not own_mac:
            return f"entry {place + 1} has no {chain.mac}"
        if previous_mac is not None and entry.get(str(chain.prev)) != previous_mac:
            return f"entry {place + 1} does not name the one before it"
        previous_mac = own_mac
    # Numbers without a gap reveal an entry that was removed from the end of a page, which the links do not.
    numbers = [entry.get(chain.seq) for entry in log] if chain.seq is not None else []
    return None if not numbers or numbers == list(range(1, len(log) + 1)) else "its numbers are not 1, 2, 3 …"


async def read_form(case: Case, log: Entries) -> tuple[audit_chain.Form, str]:
    """Return the recipe of the log, bound or discovered, and the text of its key.

    Raises:
        Inconclusive: There is no key, or the recipe is unknown.
    """
    secret = case.profile.hub.audit_key
    if secret is None:
        raise Inconclusive("needs the chain key: give [hub] audit_key, an environment variable or a file")
    try:
        text = secret.read()
    except ProfileError as fault:
        raise Inconclusive(f"[hub] audit_key: {fault}") from fault
    # Registered before any use, so that no error message can contain the key.
    case.client.names.secret(text, "AUDIT_KEY")
    return choose_form(case, log, text), text


def choose_form(case: Case, log: Entries, key: str) -> audit_chain.Form:
    """Return the recipe of a log, bound or discovered; only the reference must spell MACs in one letter case.

    Raises:
        Inconclusive: No recipe fits, the bound recipe is unknown, or the key is malformed.
    """
    bound_chain, is_reference = case.profile.hub_bindings.audit_chain, case.profile.is_reference
    if bound_chain is None:
        discovered_form = audit_chain.find_form(log, key)
        if discovered_form is None:
            raise Inconclusive("unbound: no usual recipe makes these MACs; give [hub.audit_chain]")
        return discovered_form
    if bound_chain.recipe not in audit_chain.RECIPES or bound_chain.key not in audit_chain.KEY_FORMS:
        known_words = f"recipes {', '.join(audit_chain.RECIPES)}; keys {', '.join(audit_chain.KEY_FORMS)}"
        raise Inconclusive(f"[hub.audit_chain] recipe or key is unknown; known: {known_words}")
    try:
        audit_chain.key_bytes(key, bound_chain.key)
    except ValueError as fault:
        raise Inconclusive(f"[hub] audit_key: {fault}") from fault
    return audit_chain.Form(
        bound_chain.seq,
        bound_chain.prev,
        bound_chain.mac,
        bound_chain.recipe,
        bound_chain.key,
        bound_chain.genesis,
        any_case=not is_reference,
    )
