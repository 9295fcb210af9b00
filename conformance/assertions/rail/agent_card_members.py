"""The members of a rail's agent card at a target that claims the specification (P-RA-01, P-RA-02)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from conformance.oracles.member_rules import Rule, Rules, equals, find_listed_faults, is_an
from conformance.surfaces.agent_cards import find_specified_faults
from conformance.surfaces.rail.a2a import A2A

_VERSION: Final = "1.0.0"
_SKILLS: Final = frozenset({"pay-verify-receipt", "pay-verify-rfc9421", "pay-compliance-receipt"})


def find_card_faults(card: Mapping[str, Any], rail_url: str, extension_uri: str | None) -> list[str]:
    """Return the members of an agent card that are not as P-RA-01 says, in words.

    Further members of A2A 0.3 are no faults, because the specification does not exclude them.

    Args:
        card: The card.
        rail_url: Public address of the rail, without a slash at its end.
        extension_uri: URI of the payment extension, None if the profile does not bind it.
    """
    own_rules: Rules = {"capabilities": is_an(dict), "skills": is_an(list)}
    faults = find_specified_faults(card, rail_url + A2A, _VERSION, own_rules)
    return [*faults, *_find_capability_faults(card.get("capabilities"), extension_uri), *_find_skill_faults(card)]


def _find_capability_faults(capabilities: Any, extension_uri: str | None) -> list[str]:
    is_off = equals(False)
    rules: Rules = {
        **dict.fromkeys(("streaming", "pushNotifications", "stateTransitionHistory"), is_off),
        "extensions": is_an(list),
    }
    faults = find_listed_faults(capabilities, rules, "capabilities")
    extensions = capabilities.get("extensions") if isinstance(capabilities, Mapping) else None
    for extension in extensions if isinstance(extensions, list) else []:
        uri = extension.get("uri") if isinstance(extension, Mapping) else None
        # Other extensions than the payment's are the operator's.
        if extension_uri is None or uri == extension_uri:
            extension_rules: Rules = {"uri": is_an(str), "required": is_off, "params": _HAS_LANES}
            faults += find_listed_faults(extension, extension_rules, "capabilities.extensions[]")
    return faults


_HAS_LANES: Final = Rule(
    "an object with the list lanes",
    lambda value: isinstance(value, Mapping) and isinstance(value.get("lanes"), list) and bool(value["lanes"]),
)


def _find_skill_faults(card: Mapping[str, Any]) -> list[str]:
    listed_skills = card.get("skills")
    skills = listed_skills if isinstance(listed_skills, list) else []
    rules: Rules = {"id": is_an(str), "name": is_an(str), "description": is_an(str), "tags": is_an(list)}
    faults = [fault for skill in skills for fault in find_listed_faults(skill, rules, "skills[]")]
    ids = {skill.get("id") for skill in skills if isinstance(skill, Mapping)}
    return faults + [f"no skill {skill_id}" for skill_id in sorted(_SKILLS - ids)]
