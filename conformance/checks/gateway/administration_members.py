"""GW-TEN-05: what an administrator's calls answer, if the target claims to follow specification 3.9."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from conformance.engine.check import Case, check
from conformance.http.client import Answer
from conformance.outcome import Inconclusive
from conformance.surfaces.gateway.administration import Administrator, administrator
from conformance.surfaces.gateway.calls import LINKS, Creation, brief, link_body, name_live_values, post, target_of
from conformance.text.times import utc_time
from conformance.vocabulary.profile_claims import TENANTS

ROW: Final = "GW-TEN-05"
_NAME: Final = "Weldproof members & sons"
# A public address at which no service is (RFC 7526). Nothing is sent to it, since the tenant has no payment.
_DESTINATION: Final = "https://192.88.99.1/weldproof"
_UNKNOWN_ID: Final = "00000000-0000-4000-8000-000000000000"
# A key prefix of two to eight letters, the letter of the role, and 32 random bytes in base64url (P-AU-02, P-SW-03).
_API_KEY: Final = re.compile(r"[a-z]{2,8}_[A-Za-z0-9_-]{43}")
_WEBHOOK_SECRET: Final = re.compile(r"[a-z]{2,8}w_[A-Za-z0-9_-]{43}")
_ADMINISTRATOR_KEY: Final = re.compile(r"[a-z]{2,8}c_[A-Za-z0-9_-]{43}")


@dataclass(slots=True)
class _Trial:
    """The tenant of the check, and every secret that was shown of it."""

    case: Case
    admin: Administrator
    tenant_id: str = ""
    secrets: list[str] = field(default_factory=list)

    async def call(self, method: str, *path: str, body: Any = None) -> Answer:
        """Send a call about the tenant, and give names to the secrets of its answer."""
        answer = await self.admin.call(method, self.tenant_id, *path, body=body)
        self._keep(answer)
        return answer

    async def create(self) -> Answer:
        """Create the tenant."""
        answer = await self.admin.call("POST", body={"name": _NAME})
        self._keep(answer)
        self.tenant_id = str(answer.read_object().get("tenant_id"))
        return answer

    def _keep(self, answer: Answer) -> None:
        members = answer.read_object()
        for name in ("api_key", "secret"):
            if isinstance(members.get(name), str):
                self.secrets.append(members[name])
                self.case.client.names.secret(members[name], f"NEW_{name.upper()}")
        for name in ("tenant_id", "key_id", "destination_id"):
            if isinstance(members.get(name), str):
                self.case.client.names.name(members[name], f"NEW_{name.upper()}")

    def judge(self, call: str, answer: Answer, status: int, expectations: Mapping[str, bool]) -> None:
        """Judge the status and the members of an answer."""
        faults = [] if answer.status == status else [f"status {answer.status}"]
        faults += [name for name, holds in expectations.items() if not holds]
        finding = f"wrong or absent: {', '.join(faults)}"
        requirement = f"{status} and each member"
        self.case.expect(ROW, not faults, requirement, finding, exchange=answer, where={"call": call})


@check(
    ROW,
    surface="gateway",
    fix="Answer each call of /internal/tenants as the table of 3.9 says, from the stored tenant. Show a key or a "
    "secret only in the answer that creates it.",
)
async def administrators_calls_have_their_members(case: Case) -> None:
    """Each call of an administrator about a tenant has the status and the members of 3.9, and repeats no secret.

    Creates a tenant, further keys and a webhook destination, and rotates them. Sets its networks: in two orders, to one
    only, to an unknown one, and to a malformed address. Reads its record, its deliveries and its payments.

    Expects:

    * each member of the table of 3.9, a new text for each secret, and the forms of P-AU-02,
    * the networks that were set last, in their order, of which a link takes the first,
    * 400 for an unknown network, 422 for a malformed address, and 404 for an unknown tenant,
    * no key or secret in an answer that did not create it.
    """
    if not case.profile.claims.includes(TENANTS):
        case.mark_not_applicable(ROW, "the profile does not claim the option gateway.tenants")
        return
    trial = _Trial(case, administrator(case))
    holds = _ADMINISTRATOR_KEY.fullmatch(trial.admin.key) is not None
    case.expect(ROW, holds, "an administrator's key of the form of P-AU-02", "that form" if holds else "another form")
    created = await trial.create()
    members = created.read_object()
    started_at, ends_at = (utc_time(members.get(name)) for name in ("trial_started_at", "trial_ends_at"))
    days = (case.profile.gateway_bindings.trial or {}).get("days", 60)
    expectations = {
        "tenant_id": _is_uuid(members.get("tenant_id")),
        "name": members.get("name") == _NAME,
        "kyc_status": members.get("kyc_status") == "trial",
        "trial": started_at is not None and ends_at is not None and (ends_at - started_at).days == days,
        "api_key": _fits(_API_KEY, members.get("api_key")),
        "key_id": bool(members.get("key_id")),
    }
    trial.judge("POST /internal/tenants", created, 201, expectations)
    if not all(expectations[name] for name in ("tenant_id", "api_key")):
        raise Inconclusive("a tenant was created without an id or a key")
    key_ids = [str(members.get("key_id", "")), *await _judge_keys(trial)]
    destination_ids = await _judge_destinations(trial)
    await _judge_networks(trial, str(members["api_key"]))
    await _judge_record(trial, [*key_ids, *destination_ids])


async def _judge_keys(trial: _Trial) -> list[str]:
    """Create a test key and rotate it; return the ids of both."""
    created = await trial.call("POST", "api-keys", body={"mode": "test"})
    members = created.read_object()
    expectations = {
        "key_id": bool(members.get("key_id")),
        "api_key": _fits(_API_KEY, members.get("api_key")),
        "mode": members.get("mode") == "test",
    }
    trial.judge("POST …/api-keys", created, 201, expectations)
    rotated = await trial.call("POST", "api-keys", str(members.get("key_id")), "rotate")
    successor = rotated.read_object()
    expectations = {
        "api_key": _fits(_API_KEY, successor.get("api_key")) and successor["api_key"] != members.get("api_key"),
        "old_valid_until": utc_time(successor.get("old_valid_until")) is not None,
    }
    trial.judge("POST …/api-keys/{key_id}/rotate", rotated, 201, expectations)
    return [str(one["key_id"]) for one in (members, successor) if one.get("key_id")]


async def _judge_destinations(trial: _Trial) -> list[str]:
    """Create a destination and rotate its secret; return its id."""
    created = await trial.call("POST", "webhooks", body={"url": _DESTINATION})
    if created.status == 422:
        # A target may take this address for a reserved one.
        trial.case.note("no destination was created at a public address without a service")
        return []
    members = created.read_object()
    expectations = {
        "destination_id": bool(members.get("destination_id")),
        "secret": _fits(_WEBHOOK_SECRET, members.get("secret")),
    }
    trial.judge("POST …/webhooks", created, 201, expectations)
    rotated = await trial.call("POST", "webhooks", str(members.get("destination_id")), "rotate")
    secret = rotated.read_object().get("secret")
    expectations = {"secret": _fits(_WEBHOOK_SECRET, secret) and secret != members.get("secret")}
    trial.judge("POST …/webhooks/{destination_id}/rotate", rotated, 201, expectations)
    return [str(members.get("destination_id"))]


async def _judge_networks(trial: _Trial, key: str) -> None:
    """Set the networks of the tenant several times, and judge the record and the network of a link."""
    case = trial.case
    tenant = case.session.tenants.get()
    payout = dict(tenant.payout)
    names = [name for name in tenant.networks if case.profile.usual_network(name).endswith("mainnet") is False]
    if len(names) < 2:
        case.note("the profile names less than two test networks, so their order was not judged")
    for order in (names, names[::-1], names[:1]):
        body = {name: {"payout_address": payout[name]} for name in order}
        answer = await trial.call("PUT", "networks", body=body)
        trial.judge(f"PUT …/networks with {len(order)}", answer, 200, {})
        record = await trial.call("GET")
        stored = record.read_object().get("networks")
        holds = isinstance(stored, dict) and list(stored) == order and _is_within(stored, body)
        trial.judge("GET /internal/tenants/{id}", record, 200, {"networks": holds})
        own = type(tenant)("own", trial.tenant_id, key, tuple(order), {name: payout[name] for name in order})
        link_members = {name: value for name, value in link_body(case, own).items() if name != "preferred_network"}
        link = name_live_values(case, await post(target_of(case), Creation(LINKS, link_members, own)))
        chain = str(link.read_object().get("chain")).replace("-", "_")
        finding, where = brief(link), {"call": "a link without preferred_network"}
        holds = 200 <= link.status < 300 and chain == case.profile.usual_network(order[0])
        case.expect(ROW, holds, f"a link on {order[0]}", finding, exchange=link, where=where)
    wrong: tuple[tuple[str, str, str, int], ...] = (
        ("an unknown network", "atlantis_testnet", payout[names[0]], 400),
        ("a malformed address", names[0], payout[names[0]][:-1], 422),
        ("no address", names[0], "", 422),
    )
    for name, network, address, status in wrong:
        answer = await trial.call("PUT", "networks", body={network: {"payout_address": address}})
        trial.judge(f"PUT …/networks with {name}", answer, status, {})
    record = await trial.call("GET")
    stored = record.read_object().get("networks")
    holds = isinstance(stored, dict) and list(stored) == names[:1]
    trial.judge("GET /internal/tenants/{id} after refusals", record, 200, {"networks": holds})


async def _judge_record(trial: _Trial, ids: list[str]) -> None:
    """Judge the record of the tenant, and that no answer repeats a secret."""
    record = await trial.call("GET")
    members = record.read_object()
    allowance = (trial.case.profile.gateway_bindings.trial or {}).get("allowance_microunits")
    text = json.dumps(members)
    expectations = {
        "tenant_id": members.get("tenant_id") == trial.tenant_id,
        "name": members.get("name") == _NAME,
        "kyc_status": members.get("kyc_status") == "trial",
        "keys and destinations": all(one in text for one in ids),
        "the allowance": allowance is None or allowance in members.values(),
    }
    trial.judge("GET /internal/tenants/{id}", record, 200, expectations)
    deliveries = await trial.call("GET", "deliveries")
    payments = await trial.admin.call("GET", trial.tenant_id, "payments", query={"state": "paid"})
    for call, answer in (("the record", record), ("deliveries", deliveries), ("payments", payments)):
        has_secret = any(secret.encode() in answer.body for secret in trial.secrets)
        trial.judge(f"GET {call}", answer, 200, {"no secret": not has_secret})
    unknown = await trial.admin.call("GET", _UNKNOWN_ID)
    trial.judge("GET /internal/tenants/{id} of no tenant", unknown, 404, {})


def _is_within(stored: Mapping[str, Any], body: Mapping[str, Mapping[str, str]]) -> bool:
    """Return whether each stored network has the address that was set; the case of letters is not compared."""
    return all(
        isinstance(stored[name], dict)
        and str(stored[name].get("payout_address")).lower() == members["payout_address"].lower()
        for name, members in body.items()
    )


def _fits(form: re.Pattern[str], value: object) -> bool:
    return isinstance(value, str) and form.fullmatch(value) is not None


def _is_uuid(value: object) -> bool:
    try:
        return isinstance(value, str) and str(uuid.UUID(value)) == value.lower()
    except ValueError:
        return False
