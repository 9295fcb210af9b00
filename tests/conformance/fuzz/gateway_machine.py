"""A state machine that does with a gateway what tenants, payers, operators and time do, and holds it to the model.

Every example makes tenants of its own, so that one service takes one example after the other. What is asked for is
judged at once: the status, the code, the answer's values, and that nothing is ever answered 5xx.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tests.conformance.fuzz.gateway_model import (
    ACTIVE,
    CANCELLED,
    DAY,
    PAID,
    TRIAL_SECONDS,
    Gateway,
    Key,
    Link,
    Refusal,
    Remembered,
    Tenant,
    is_test,
)

LINKS, RESOURCES = "/v1/payment-links", "/v1/resources"
# Seconds by which the clocks of the service and of the model may differ.
MARGIN = 8.0
PATIENCE = 20.0
_AT_ONCE = 4
_AFFORDABLE = 10_000_000
_PLACES = st.integers(0, 10**6)
_TEXTS = st.sampled_from(
    ["Order", "é", "\U0001f600" * 5, "x" * 255, "' OR 1=1 --", "<b>&amp;", "שלום", "a" * 254 + "ß"]
)
_AMOUNTS = st.sampled_from(["0.000001", "1", "8.41", "1.005", "999.999999", "1000", "1000.000001", "12345678.9"])
_KEYS = st.sampled_from([None, "k1", "k2", "k3"])
_SPANS = st.sampled_from([1, 30, 90, 3_600, DAY - 600, DAY + 60, 31 * DAY])


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer: status, headers with names in lower case, body."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def object(self) -> dict[str, Any]:
        """Return the body as a JSON object."""
        value = json.loads(self.body)
        return value if isinstance(value, dict) else {}


class Over(BaseException):
    """The time is up; no exception that Hypothesis would look into."""


class Breach(AssertionError):
    """The gateway did what the model does not."""


def require(holds: bool, words: object) -> None:
    """Go on when something holds.

    Raises:
        Breach: It does not.
    """
    if not holds:
        raise Breach(words)


class World(Protocol):
    """A gateway that is running, with what surrounds it."""

    admin_key: str
    payouts: Mapping[str, str]
    lanes: Mapping[str, str]  # network key to lane, where payments can be made

    def call(self, method: str, path: str, headers: Mapping[str, str], body: bytes | None = None) -> Reply:
        """Send one request; safe to call from threads."""

    def now(self) -> float:
        """Return the service's time."""

    def advance(self, seconds: float) -> None:
        """Move the service's clock and its chains' on."""

    def restart(self) -> None:
        """Kill the service and start it again on the same data."""

    def pay(self, network: str, address: str, amount: int, memo: str) -> str:
        """Pay on a chain and return the transaction's id once it is there."""

    @property
    def memo_prefix(self) -> str:
        """What stands before the token in a memo."""


class GatewayMachine(RuleBasedStateMachine):
    """See the module; `world` and `ends` (monotonic seconds) are set by `machine_of`."""

    world: World
    ends: float
    walked = 0

    def __init__(self) -> None:
        super().__init__()
        self.model = Gateway()
        self.crashed = False

    # Calls and what every answer must be.

    def call(self, method: str, path: str, headers: Mapping[str, str] | None = None, body: Any = None) -> Reply:
        """Send one request; no answer may be 5xx, and every one has an id.

        Raises:
            Over: The time is up.
        """
        if time.monotonic() >= self.ends:
            raise Over
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        content_type = {"content-type": "application/json"} if data is not None else {}
        reply = self.world.call(method, path, {**content_type, **(headers or {})}, data)
        require(reply.status < 500, f"{method} {path} answered {reply.status}: {reply.body[:300]!r}")
        require(reply.headers.get("x-request-id", "").startswith("req_"), f"{method} {path} has no request id")
        return reply

    def internal(self, method: str, path: str, body: Any = None, *, status: int = 200) -> dict[str, Any]:
        """Do something as the operator."""
        reply = self.call(method, f"/internal/tenants{path}", {"authorization": f"Bearer {self.world.admin_key}"}, body)
        require(reply.status == status, f"{method} {path}: {reply.status} {reply.body[:300]!r}")
        return reply.object() if reply.body else {}

    @staticmethod
    def judge_refusal(reply: Reply, expected_refusal: Refusal) -> None:
        """Judge that an answer is one refusal."""
        refusal = (reply.status, reply.object().get("error"))
        require(
            refusal == (expected_refusal.status, expected_refusal.code), f"expected {expected_refusal}, found {refusal}"
        )

    def tenant(self, place: int) -> Tenant:
        """Return one of the tenants."""
        return self.model.tenants[place % len(self.model.tenants)]

    def link(self, place: int) -> Link:
        """Return one of the links."""
        return self.model.links[place % len(self.model.links)]

    @staticmethod
    def key_of(tenant: Tenant, place: int) -> Key:
        """Return one of a tenant's keys, good or lapsed."""
        keys = list(tenant.keys.values())
        return keys[place % len(keys)]

    @staticmethod
    def credentials(tenant: Tenant, key: Key) -> dict[str, str]:
        """Return the two headers of a tenant's call."""
        return {"authorization": f"Bearer {key.text}", "x-tenant-id": tenant.id}

    def until(self, holds: Callable[[], bool], description: str) -> None:
        """Wait until something that the service does by itself is done."""
        ends = time.monotonic() + PATIENCE
        while not holds():
            require(time.monotonic() < ends, description)
            time.sleep(0.05)

    # What operators do.

    @initialize(standings=st.tuples(st.booleans(), st.booleans()))
    def open_shops(self, standings: tuple[bool, bool]) -> None:
        """Two tenants with networks; each may be approved and have a live key."""
        for is_approved in standings:
            self.new_tenant(is_approved=is_approved)

    def new_tenant(self, *, is_approved: bool) -> None:
        """Make a tenant."""
        tenant_answer = self.internal("POST", "", {"name": "shop"}, status=201)
        tenant = Tenant(tenant_answer["tenant_id"], self.world.now() + TRIAL_SECONDS, tuple(self.world.payouts))
        tenant.keys[tenant_answer["key_id"]] = Key(tenant_answer["api_key"], "test")
        self.model.tenants.append(tenant)
        payouts = {network: {"payout_address": address} for network, address in self.world.payouts.items()}
        self.internal("PUT", f"/{tenant.id}/networks", payouts)
        if is_approved:
            self.approve(len(self.model.tenants) - 1, "trial")
            tenant_answer = self.internal("POST", f"/{tenant.id}/api-keys", {"mode": "live"}, status=201)
            tenant.keys[tenant_answer["key_id"]] = Key(tenant_answer["api_key"], "live")

    @rule(place=_PLACES, plan=st.sampled_from(["trial", "paid"]))
    def approve(self, place: int, plan: str) -> None:
        """A tenant is approved; no link changes by that."""
        tenant = self.tenant(place)
        self.internal("POST", f"/{tenant.id}/kyc", {"status": "approved", "plan": plan})
        tenant.approved, tenant.plan = True, plan

    @rule(place=_PLACES)
    def reject(self, place: int) -> None:
        """A tenant is rejected: mainnet is closed to it."""
        tenant = self.tenant(place)
        self.internal("POST", f"/{tenant.id}/kyc", {"status": "rejected"})
        tenant.approved = False

    @rule(place=_PLACES, key_place=_PLACES)
    def rotate_key(self, place: int, key_place: int) -> None:
        """A new key is good at once, the old one for 30 days more; a live one needs a tenant that is approved."""
        tenant = self.tenant(place)
        key_id, old = list(tenant.keys.items())[key_place % len(tenant.keys)]
        if old.until is not None:
            return
        rotation = f"/{tenant.id}/api-keys/{key_id}/rotate"
        if old.mode == "live" and not tenant.approved:
            self.internal("POST", rotation, status=422)
            return
        key_answer = self.internal("POST", rotation, status=201)
        old.until = self.world.now() + 30 * DAY
        tenant.keys[key_answer["key_id"]] = Key(key_answer["api_key"], old.mode)

    @precondition(lambda self: any(len(one.keys) > 1 for one in self.model.tenants))
    @rule(place=_PLACES, key_place=_PLACES)
    def delete_key(self, place: int, key_place: int) -> None:
        """A key is deleted like any other when it has lapsed, and refused at once."""
        rich = [one for one in self.model.tenants if len(one.keys) > 1]
        tenant = rich[place % len(rich)]
        key_id, key = list(tenant.keys.items())[key_place % len(tenant.keys)]
        self.internal("DELETE", f"/{tenant.id}/api-keys/{key_id}", status=204)
        del tenant.keys[key_id]
        self.judge_refusal(
            self.call("GET", f"{RESOURCES}/x", self.credentials(tenant, key)), Refusal(401, "invalid_api_key")
        )

    @rule(place=_PLACES, count=st.integers(1, 8))
    def set_networks(self, place: int, count: int) -> None:
        """The list of networks is replaced; its first is the default."""
        tenant = self.tenant(place)
        names = list(self.world.payouts)
        network_order = names[count % len(names) :] + names[: count % len(names)]
        tenant.networks = tuple(network_order[:count])
        body = {name: {"payout_address": self.world.payouts[name]} for name in tenant.networks}
        self.internal("PUT", f"/{tenant.id}/networks", body)

    # What tenants do.

    @rule(
        place=_PLACES,
        key_place=_PLACES,
        network=st.sampled_from(
            [None, "algorand_testnet", "base_sepolia", "solana_devnet", "base_mainnet", "voi_mainnet"]
        ),
        amount=_AMOUNTS,
        label=_TEXTS,
        lifetime=st.sampled_from([None, 60, 600, 86_400]),
        key=_KEYS,
    )
    def create_link(
        self,
        place: int,
        key_place: int,
        network: str | None,
        amount: str,
        label: str,
        lifetime: int | None,
        key: str | None,
    ) -> None:
        """A link is made, refused, or the one that a key stands for comes back."""
        tenant = self.tenant(place)
        api_key = self.key_of(tenant, key_place)
        body = link_body(network, amount, label, lifetime)
        headers = self.credentials(tenant, api_key) | ({} if key is None else {"idempotency-key": key})
        now = self.world.now()
        self.judge_creation(tenant, api_key, body, key, self.call("POST", LINKS, headers, body), now)

    def judge_creation(
        self, tenant: Tenant, api_key: Key, body: bytes, key: str | None, reply: Reply, now: float
    ) -> None:
        """Hold the answer to a creation against the model."""
        if api_key.until is not None and abs(api_key.until - now) <= MARGIN:
            return
        refusal = self.model.credential_refusal(tenant, api_key, now)
        if refusal is not None:
            self.judge_refusal(reply, refusal)
            return
        stored_answer = self.model.recall(tenant, LINKS, key, now, MARGIN)
        if isinstance(stored_answer, Remembered):
            self.judge_replay(stored_answer, body, reply)
            return
        body_members = json.loads(body)
        amount = microunits(body_members["amount"])
        if abs(tenant.trial_ends_at - now) <= MARGIN or stored_answer == "unsure":
            if reply.status == 201 and "idempotent-replayed" not in reply.headers:
                self.took(tenant, body_members, amount, reply, key, body, now)
            return
        refusal = self.model.link_refusal(tenant, api_key, body_members.get("preferred_network"), amount, now)
        if refusal is not None:
            self.judge_refusal(reply, refusal)
        else:
            self.took(tenant, body_members, amount, reply, key, body, now)

    def judge_replay(self, stored_answer: Remembered, body: bytes, reply: Reply) -> None:
        """The same body gets the same bytes, another one is a conflict (P-ID-03, P-ID-04)."""
        if json.loads(stored_answer.body) != json.loads(body):
            self.judge_refusal(reply, Refusal(409, "idempotency_conflict"))
            return
        require(reply.status == 201, reply.body[:300])
        require(reply.body == stored_answer.answer, "a replay differs from the first answer")
        require(reply.headers.get("idempotent-replayed") == "true", "a replay says that it is one")

    def took(
        self,
        tenant: Tenant,
        body_members: Mapping[str, Any],
        amount: int,
        reply: Reply,
        key: str | None,
        body: bytes,
        now: float,
    ) -> None:
        """A link was made as it was asked for."""
        require(reply.status == 201, f"{reply.status} {reply.body[:300]!r}")
        link_answer = reply.object()
        network = body_members.get("preferred_network") or tenant.networks[0]
        require(
            link_answer["amount_microunits"] == amount,
            f"{body_members['amount']} came to {link_answer['amount_microunits']}",
        )
        require(link_answer["chain"] == network.replace("_", "-"), link_answer["chain"])
        require(link_answer["label"] == body_members["label"], "the label was changed")
        require(link_answer["token"] not in self.model.tokens, "a token was given twice")
        lifetime = body_members.get("expires_in_seconds") or DAY
        self.model.tokens.add(link_answer["token"])
        self.model.remember(tenant, LINKS, key, Remembered(body, reply.body, now))
        self.model.links.append(
            Link(tenant, link_answer["token"], link_answer["cancel_secret"], network, amount, expires_at=now + lifetime)
        )

    @rule(place=_PLACES, key_place=_PLACES, amount=_AMOUNTS)
    def create_at_once(self, place: int, key_place: int, amount: str) -> None:
        """Concurrent creations with one fresh key make one link."""
        tenant = self.tenant(place)
        api_key = self.key_of(tenant, key_place)
        now = self.world.now()
        body = link_body(None, amount, "rush", None)
        refusal = self.model.credential_refusal(tenant, api_key, now)
        refusal = refusal or self.model.link_refusal(tenant, api_key, None, microunits(json.loads(body)["amount"]), now)
        if refusal is not None:
            return
        key = f"rush-{len(self.model.links)}-{len(self.model.remembered)}"
        headers = {**self.credentials(tenant, api_key), "idempotency-key": key}
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            replies = list(pool.map(lambda _: self.call("POST", LINKS, headers, body), range(_AT_ONCE)))
        link_bodies = {reply.body for reply in replies if reply.status == 201}
        other_answers = {(reply.status, reply.object().get("error")) for reply in replies if reply.status != 201}
        require(len(link_bodies) == 1, f"{len(link_bodies)} links for one key")
        require(other_answers <= {(409, "idempotency_in_progress")}, other_answers)
        first = next(reply for reply in replies if reply.status == 201)
        self.took(tenant, json.loads(body), microunits(amount), first, key, body, now)

    @rule(
        place=_PLACES,
        key_place=_PLACES,
        name=st.sampled_from(["r1", "r2", "a:b.c-d_e"]),
        key=_KEYS,
        amount=st.sampled_from([1, 5]),
    )
    def create_resource(self, place: int, key_place: int, name: str, key: str | None, amount: int) -> None:
        """A resource is made once for each name of a tenant."""
        tenant = self.tenant(place)
        api_key = self.key_of(tenant, key_place)
        body = json.dumps({"resource_id": name, "amount_microunits": amount}).encode()
        headers = self.credentials(tenant, api_key) | ({} if key is None else {"idempotency-key": key})
        now = self.world.now()
        reply = self.call("POST", RESOURCES, headers, body)
        refusal = self.model.credential_refusal(tenant, api_key, now)
        stored_answer = self.model.recall(tenant, RESOURCES, key, now, MARGIN)
        if refusal is not None:
            self.judge_refusal(reply, refusal)
        elif isinstance(stored_answer, Remembered):
            self.judge_replay(stored_answer, body, reply)
        elif stored_answer == "unsure":
            return
        elif name in tenant.resources:
            self.judge_refusal(reply, Refusal(409, "resource_exists"))
        else:
            require(reply.status == 201, reply.body[:300])
            tenant.resources[name] = reply.body
            self.model.remember(tenant, RESOURCES, key, Remembered(body, reply.body, now))

    @rule(place=_PLACES, other_place=_PLACES, key_place=_PLACES, name=st.sampled_from(["r1", "r2", "none"]))
    def read_resource(self, place: int, other_place: int, key_place: int, name: str) -> None:
        """A tenant reads its own; with another's id the key is refused."""
        tenant, owner = self.tenant(place), self.tenant(other_place)
        api_key = self.key_of(tenant, key_place)
        now = self.world.now()
        reply = self.call("GET", f"{RESOURCES}/{name}", self.credentials(owner, api_key))
        refusal = self.model.credential_refusal(owner, api_key, now)
        if refusal is not None:
            self.judge_refusal(reply, refusal)
        elif name in tenant.resources:
            require(reply.body == tenant.resources[name], "a resource changed")
        else:
            self.judge_refusal(reply, Refusal(404, "not_found"))

    # What payers and tenants do with a link.

    @precondition(lambda self: self.model.links)
    @rule(place=_PLACES)
    def look(self, place: int) -> None:
        """The state is the model's, at once or as soon as the service took its last look at the chain."""
        link = self.link(place)
        self.expect_state(link)

    def expect_state(self, link: Link) -> None:
        """Judge a link's state, its page too."""
        if link.is_near_its_end(self.world.now(), MARGIN):
            return

        def agrees() -> bool:
            status = self.call("GET", f"/checkout/{link.token}/status").object()
            if link.ended == PAID and status["status"] == PAID:
                require(status["tx_id"] == link.tx_id, f"paid by {status['tx_id']}, not {link.tx_id}")
            return bool(status["status"] == link.state(self.world.now()))

        self.until(agrees, f"the link does not become {link.state(self.world.now())}")
        page = self.call("GET", f"/checkout/{link.token}")
        require(page.status == 200, page.status)
        is_shown = b'data-state="' + link.state(self.world.now()).encode() + b'"' in page.body
        require(is_shown or link.is_near_its_end(self.world.now(), MARGIN), "the page shows another state")

    @precondition(lambda self: self.model.links)
    @rule(place=_PLACES, right=st.booleans())
    def cancel(self, place: int, right: bool) -> None:
        """The tenant's secret ends an active link, another one does nothing."""
        link = self.link(place)
        now = self.world.now()
        if link.is_near_its_end(now, MARGIN):
            return
        self.expect_state(link)
        secret = link.secret if right else "A" * 43
        reply = self.call("POST", f"/checkout/{link.token}/cancel", None, {"cancel_secret": secret})
        refusal = self.model.end_refusal(link, now)
        if not right:
            self.judge_refusal(reply, Refusal(403, "invalid_cancel_secret"))
        elif refusal is not None:
            self.judge_refusal(reply, refusal)
        else:
            require(reply.status == 200, reply.body[:300])
            link.ended = CANCELLED

    @precondition(lambda self: self.model.links)
    @rule(place=_PLACES, body=st.sampled_from([None, b"{}"]))
    def abandon(self, place: int, body: bytes | None) -> None:
        """The payer's word ends an active link; a second one changes nothing."""
        link = self.link(place)
        now = self.world.now()
        if link.is_near_its_end(now, MARGIN):
            return
        self.expect_state(link)
        reply = self.call("POST", f"/checkout/{link.token}/abandon", None, body)
        refusal = self.model.end_refusal(link, now, twice=True)
        if refusal is not None:
            self.judge_refusal(reply, refusal)
        else:
            require(reply.status == 200, reply.body[:300])
            link.ended = CANCELLED

    @precondition(lambda self: self.model.links)
    @rule(place=_PLACES, tx_id=st.sampled_from(["A" * 52, "0x" + "0" * 64, "1" * 88, "x" * 10, "é" * 20, "A" * 128]))
    def show_nonsense(self, place: int, tx_id: str) -> None:
        """An invalid transaction pays nothing."""
        link = self.link(place)
        now = self.world.now()
        if link.is_near_its_end(now, MARGIN):
            return
        self.expect_state(link)
        reply = self.call("POST", f"/checkout/{link.token}/verify", None, {"tx_id": tx_id})
        refusal = self.model.end_refusal(link, now)
        self.judge_refusal(reply, refusal or Refusal(422, "payment_not_verified"))

    @precondition(lambda self: self.payable())
    @rule(place=_PLACES, kind=st.sampled_from(["right", "right", "more", "less", "other memo"]), shows=st.booleans())
    def pay(self, place: int, kind: str, shows: bool) -> None:
        """The right payment makes an active link paid, by itself or shown; any other changes nothing."""
        choice = self.payable()
        link = choice[place % len(choice)]
        now = self.world.now()
        if link.state(now) == ACTIVE and link.expires_at - now < 6 * MARGIN:
            return
        amount = link.amount + {"more": 1, "less": -1}.get(kind, 0)
        if amount == 0:
            return
        memo = self.world.memo_prefix + ("B" * 22 if kind == "other memo" else link.token)
        active = link.state(now) == ACTIVE
        tx_id = self.world.pay(link.network, self.world.payouts[link.network], amount, memo)
        if active and kind in {"right", "more"}:
            link.ended, link.tx_id = PAID, tx_id
            link.tenant.paid_on_mainnet += 0 if is_test(link.network) else link.amount
        if shows:
            self.show(link, tx_id, active=active, right=kind in {"right", "more"}, now=now)
        self.expect_state(link)

    def show(self, link: Link, tx_id: str, *, active: bool, right: bool, now: float) -> None:
        """Judge what showing a transaction is answered; the watcher may have been there first."""

        def is_answered() -> bool:
            reply = self.call("POST", f"/checkout/{link.token}/verify", None, {"tx_id": tx_id})
            refusal = (reply.status, reply.object().get("error"))
            if active and right:
                is_unsettled = reply.object().get("reason") in {"tx_not_confirmed", "tx_not_found"}
                require(is_unsettled or refusal in {(200, None), (409, "payment_link_already_paid")}, reply.body[:300])
                return not is_unsettled
            expected_refusal = self.model.end_refusal(link, now) or Refusal(422, "payment_not_verified")
            require(refusal == (expected_refusal.status, expected_refusal.code), f"{refusal} {reply.body[:300]!r}")
            return True

        self.until(is_answered, "a confirmed payment is not seen")

    def payable(self) -> Sequence[Link]:
        """Return the links on networks where payments can be made, of amounts that the payer has."""
        return [one for one in self.model.links if one.network in self.world.lanes and one.amount <= _AFFORDABLE]

    # What time and machines do.

    @rule(seconds=_SPANS)
    def time_passes(self, seconds: int) -> None:
        """The clock moves on, and with it links expire, keys lapse, answers are forgotten."""
        self.world.advance(seconds)

    @precondition(lambda self: self.model.links and not self.crashed)
    @rule(chance=st.integers(0, 3))
    def crash(self, chance: int) -> None:
        """The service is killed and comes back, at most once in an example; it forgets nothing."""
        if chance != 1:
            return
        self.crashed = True
        self.world.restart()
        for link in self.model.links[-3:]:
            self.expect_state(link)

    def teardown(self) -> None:
        """Nothing changed without a call that changes it."""
        for link in self.model.links[-6:]:
            self.expect_state(link)
        type(self).walked += 1


def link_body(network: str | None, amount: str, label: str, lifetime: int | None) -> bytes:
    """Return a creation's body, with the amount's digits as they are."""
    members = {"currency": "USDC", "label": label}
    further = {"preferred_network": network, "expires_in_seconds": lifetime}
    text = json.dumps({**members, **{name: value for name, value in further.items() if value is not None}})
    return f'{{"amount":{amount},{text[1:]}'.encode()


def microunits(amount: Any) -> int:
    """Return millionths of an amount whose literal has at most six decimals."""
    return round(float(amount) * 1_000_000)


def machine_of(world: World, ends: float) -> type[GatewayMachine]:
    """Return the state machine of one world, which raises `Over` when the monotonic time `ends` is reached."""
    return type("GatewayMachine", (GatewayMachine,), {"world": world, "ends": ends, "walked": 0})
