"""GW-SCR-06 and -07: a screening and its receipt say what the fixtures of 3.7 say, for bodies within its limits."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.http.client import Answer
from conformance.oracles import jose
from conformance.oracles.ed25519_keys import KeyFault
from conformance.oracles.hash_recipes import jcs_bytes, sha256_hex
from conformance.receipts.verifier import screen_person
from conformance.surfaces.gateway.calls import target_of
from conformance.text.times import utc_time
from conformance.vocabulary.networks import EXAMPLE, NETWORKS, Network

ROW, BODY_ROW = "GW-SCR-06", "GW-SCR-07"
_DID_DOCUMENT: Final = "/.well-known/did.json"
_EVM_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_RECEIPT_MEMBERS: Final = frozenset(
    {
        *("payer_ref", "screen_result", "screen_timestamp_ms", "screen_provider_did", "jurisdiction_flags"),
        "canon_version",
    }
)
_ALLOWED: Final = {"sanctions_clear": True, "recipient_kyb_status": "approved", "risk_tier": "low", "reasons": []}
_FLAGGED: Final = {
    "sanctions_clear": True,
    "recipient_kyb_status": "trial",
    "risk_tier": "medium",
    "reasons": ["fixture_flag"],
}
_BLOCKED: Final = {
    "sanctions_clear": False,
    "recipient_kyb_status": "rejected",
    "risk_tier": "restricted",
    "reasons": ["fixture_block"],
}
_UNKNOWN: Final = {**_ALLOWED, "recipient_kyb_status": "unknown"}
_RESULTS: Final = {"allow": "ALLOW", "flag": "REFER", "block": "DENY"}
# The fixtures of 3.7: verdict and members by address.
FIXTURES: Final[Mapping[str, tuple[str, Mapping[str, Any]]]] = {
    "0x000000000000000000000000000000000000a110": ("allow", _ALLOWED),
    "M7BIWHNLPKM2O6L4Y6NWB2ZSQHXO5IOQXT5N47SGBIDETCDMVNBZ22UA2E": ("allow", _ALLOWED),
    "7z33nfcNTESK4QydVVJLquYvNfhxPCK8PQizzcu2FkUS": ("allow", _ALLOWED),
    "screen-allow": ("allow", _ALLOWED),
    "screen-allow-7": ("allow", _ALLOWED),
    "0x000000000000000000000000000000000000f1a9": ("flag", _FLAGGED),
    "PMWJN4A25IY6SRRR6V4FAEVMRJ2VN4F7CKNWYB7RMEUXLKGDTLH6UR4K5E": ("flag", _FLAGGED),
    "9HpamAXHxUgoepffkFnhSjmGsf6yqacwUtcsNzSyLyzn": ("flag", _FLAGGED),
    "screen-flag-of-a-shop": ("flag", _FLAGGED),
    "0x000000000000000000000000000000000000b10c": ("block", _BLOCKED),
    "4LVQ5EQHKCAA2PQ5XN4QMMQ5YGCJM7SKHOEBEFQVWB25BK2FCSPX7LALJY": ("block", _BLOCKED),
    "GGo2Tr6Vm1Lz4dSnLRJkcFYPr1S7384HjD5os4nQV6Yv": ("block", _BLOCKED),
    "screen-block-": ("block", _BLOCKED),
    # The case of a hexadecimal address carries no information (P-NW-04).
    "0x000000000000000000000000000000000000B10C": ("block", _BLOCKED),
    # Near misses: another letter at the end or at the beginning, and another case of a text.
    "0x000000000000000000000000000000000000b10d": ("allow", _UNKNOWN),
    "0x100000000000000000000000000000000000b10c": ("allow", _UNKNOWN),
    "screen-blocked": ("allow", _UNKNOWN),
    "Screen-block": ("allow", _UNKNOWN),
    "a-screen-block-1": ("allow", _UNKNOWN),
    "ab #&<>/?\u00fc\u2028": ("allow", _UNKNOWN),
}


_PLAIN: Final[Mapping[str, Any]] = {"recipient_address": "screen-allow", "network": EXAMPLE.key}
# Members of a body by the status that it must get (P-SC-01).
_BODIES: Final[Mapping[int, Mapping[str, Mapping[str, Any]]]] = {
    200: {
        "the shortest address": {"recipient_address": "abcd"},
        "the longest address": {"recipient_address": "a" * 128},
        "an address of letters beyond ASCII": {"recipient_address": "\u00e4\u65e5\U0001f9fe7"},
        "an address of spaces": {"recipient_address": "    "},
        "an amount of 0": {"amount_microunits": 0},
        "an amount": {"amount_microunits": 50_000},
        "a null amount": {"amount_microunits": None},
        "a null asset": {"asset": None},
        "the longest asset": {"asset": "a" * 128},
        "an empty asset": {"asset": ""},
    },
    422: {
        "an address of 3 letters": {"recipient_address": "abc"},
        "an address of 129 letters": {"recipient_address": "a" * 129},
        "a null address": {"recipient_address": None},
        "an address that is a number": {"recipient_address": 1234},
        "a network of 3 letters": {"network": "abc"},
        "a network of 65 letters": {"network": "a" * 65},
        "a null network": {"network": None},
        "a network in a list": {"network": [EXAMPLE.key]},
        "a negative amount": {"amount_microunits": -1},
        "a fraction of an amount": {"amount_microunits": 0.5},
        "an amount that is a text": {"amount_microunits": "50000"},
        "an amount that is true": {"amount_microunits": True},
        "an asset of 129 letters": {"asset": "a" * 129},
        "an asset that is a number": {"asset": 7},
    },
    400: {
        "an unknown network": {"network": "no_such_network"},
        "a network of 4 letters": {"network": "abcd"},
        "a network of 64 letters": {"network": "a" * 64},
        "a network with a space": {"network": f"{EXAMPLE.key} "},
    },
}


@dataclass(frozen=True, slots=True)
class Screening:
    """One screening.

    Attributes:
        address: The screened address.
        network: Its network.
        spelling: The spelling of the network in the request.
    """

    address: str
    network: Network
    spelling: str


@check(
    ROW,
    surface="gateway",
    fix="Answer a screening with all members of 3.7 from one finding, and sign the receipt from the same finding.",
)
async def screenings_say_what_the_fixtures_say(case: Case) -> None:
    """A screening has each member of P-SC-02 with the fixture's value, and its receipt says the same.

    Screens each fixture, addresses that nearly are one, and addresses of unusual text, over the networks and their
    spellings in turn. Expects verdict, members, network and a fixed notice unless the verdict is allow. Expects of the
    receipt the same verdict and time, the reference of the payer by its recipe, one provider and its flags, and no
    payment.
    """
    screenings = list(_list_screenings(every_network=case.profile.is_reference))
    answers = await run_concurrently(
        screen_person(case, {"recipient_address": one.address, "network": one.spelling}) for one in screenings
    )
    notices, ids = set(), []
    for screening, answer in zip(screenings, answers, strict=True):
        body = answer.read_object()
        faults = find_faults(screening, answer)
        where = {"address": screening.address, "network": screening.spelling}
        expectation = f"the members of {FIXTURES[screening.address][0]}"
        case.expect(ROW, not faults, expectation, ", ".join(faults), exchange=answer, where=where)
        ids.append(body.get("verdict_id"))
        notices |= {str(body["tipping_off_notice"])} if "tipping_off_notice" in body else set()
    repeated_count = len(ids) - len(set(map(str, ids)))
    case.expect(ROW, not repeated_count, "a verdict_id for each screening", f"{repeated_count} repeated")
    case.expect(ROW, len(notices) <= 1, "one fixed notice", f"{len(notices)} texts")
    await _judge_provider(case, answers)


async def _judge_provider(case: Case, answers: Sequence[Answer]) -> None:
    """Judge that every receipt names the gateway's own DID, and the same jurisdictions."""
    document = await target_of(case)("GET", _DID_DOCUMENT)
    did = document.read_object().get("id")
    receipts = [receipt for one in answers if isinstance(receipt := one.read_object().get("compliance_receipt"), dict)]
    providers = {str(one.get("screen_provider_did")) for one in receipts}
    is_own = isinstance(did, str) and providers == {did}
    case.expect(ROW, is_own, f"screen_provider_did {did}", ", ".join(sorted(providers)), exchange=document)
    flags = {json.dumps(one.get("jurisdiction_flags")) for one in receipts}
    is_list = all(
        isinstance(value, list) and all(isinstance(flag, str) for flag in value) for value in map(json.loads, flags)
    )
    holds = is_list and len(flags) == 1
    case.expect(
        ROW, holds, "jurisdiction_flags, the same array of strings", ", ".join(sorted(flags)), exchange=answers[0]
    )


@check(
    BODY_ROW,
    surface="gateway",
    fix="Refuse a screening's body by the limits of P-SC-01 with 422, and an unknown network with 400.",
)
async def screenings_are_taken_within_their_limits(case: Case) -> None:
    """A screening takes each member at the limits of P-SC-01, and refuses what is beyond them.

    Sends addresses, networks, amounts and assets at each limit, null for the optional ones, and addresses of any form.
    Expects 200. Sends each beyond its limit, of another type, and left out. Expects 422, and 400 for a network that
    is unknown.
    """
    bodies = [
        (name, {**_PLAIN, **members}, status) for status, trials in _BODIES.items() for name, members in trials.items()
    ]
    bodies += [(f"no {name}", {one: value for one, value in _PLAIN.items() if one != name}, 422) for name in _PLAIN]
    answers = await run_concurrently(screen_person(case, body) for _, body, _ in bodies)
    for (name, _, status), answer in zip(bodies, answers, strict=True):
        holds = answer.status == status
        where = {"body": name}
        if holds and status == 400:
            holds = answer.read_object().get("error") == "unsupported_network"
        case.expect(BODY_ROW, holds, f"{status}", answer.status, exchange=answer, where=where)


def find_faults(screening: Screening, answer: Answer) -> list[str]:
    """Return the names of what is wrong in the answer to a screening; empty if nothing is."""
    if answer.status != 200:
        return [f"status {answer.status}"]
    body = answer.read_object()
    verdict, members = FIXTURES[screening.address]
    expected = {**members, "verdict": verdict, "network_normalised": screening.network.key}
    faults = [name for name, value in expected.items() if not _is_same(body.get(name), value)]
    faults += [] if _is_uuid(body.get("verdict_id")) else ["verdict_id"]
    has_notice = isinstance(body.get("tipping_off_notice"), str) and bool(body["tipping_off_notice"])
    faults += [] if has_notice is (verdict != "allow") else ["tipping_off_notice"]
    time_text = body.get("screened_at")
    is_time = isinstance(time_text, str) and _TIME.fullmatch(time_text) is not None
    faults += [] if is_time else ["screened_at"]
    return faults + _find_receipt_faults(screening, body, time_text if is_time else None)


def _find_receipt_faults(screening: Screening, body: Mapping[str, Any], time_text: str | None) -> list[str]:
    try:
        payload = json.loads(jose.parse(str(body.get("compliance_receipt_jws"))).payload)
    except (jose.JwsFault, KeyFault, ValueError):
        return ["compliance_receipt_jws"]
    if not isinstance(payload, dict):
        return ["compliance_receipt_jws"]
    faults = [] if body.get("compliance_receipt") == payload else ["compliance_receipt"]
    faults += sorted(f"receipt: {name}" for name in _RECEIPT_MEMBERS ^ payload.keys() if name != "kind")
    expected = {
        "payer_ref": compute_payer_reference(screening.address, screening.network),
        "screen_result": _RESULTS[FIXTURES[screening.address][0]],
        "canon_version": "jcs-rfc8785-v1",
    }
    faults += [f"receipt: {name}" for name, value in expected.items() if payload.get(name) != value]
    milliseconds = payload.get("screen_timestamp_ms")
    moment = None if time_text is None else utc_time(time_text)
    if moment is not None and isinstance(milliseconds, int) and milliseconds // 1000 != int(moment.timestamp()):
        faults.append("receipt: screen_timestamp_ms")
    return faults


def compute_payer_reference(address: str, network: Network) -> str:
    """Return `payer_ref` of a screened address: `sha256:` and bare hex (2.3)."""
    text = address.lower() if _is_evm(address) else address
    return f"sha256:{sha256_hex(jcs_bytes({'address': text, 'network': network.key}))}"


def _list_screenings(*, every_network: bool = False) -> Iterator[Screening]:
    # A text that is no EVM address has no canonical form on an EVM network, so it is screened elsewhere.
    evm = [network for network in NETWORKS if network.caip2.startswith("eip155:")]
    others = [network for network in NETWORKS if network not in evm]
    for place, address in enumerate(FIXTURES):
        networks = evm if _is_evm(address) else others
        for number, network in enumerate(networks):
            if every_network or number == place % len(networks):
                spellings = (network.key, network.key.replace("_", "-"), network.event, network.caip2)
                yield Screening(address, network, spellings[(place + number) % len(spellings)])


def _is_evm(address: str) -> bool:
    return _EVM_ADDRESS.fullmatch(address) is not None


def _is_same(value: Any, expected: Any) -> bool:
    # True is equal to 1 in Python, and not in JSON.
    return json.dumps(value, sort_keys=True) == json.dumps(expected, sort_keys=True)


def _is_uuid(value: Any) -> bool:
    try:
        return bool(str(uuid.UUID(str(value))) == value)
    except ValueError:
        return False
