"""GW-IDEM: calls with the same Idempotency-Key create one link or resource."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Any

from conformance.assertions.gateway.originals import (
    find_differences,
    judge_nothing_second,
    judge_original,
    read_identity,
)
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.tenant_credentials import Credentials
from conformance.http.client import Answer
from conformance.outcome import Inconclusive, OpenPoint
from conformance.surfaces.gateway.calls import (
    LINKS,
    REQUEST_ID,
    RESOURCES,
    Creation,
    bodies,
    brief,
    create,
    expect_created,
    has_unique,
    is_created,
    is_refused,
    label_of,
    link_body,
    name_live_values,
    new_text,
    payable,
    post,
    resource_body,
    target_of,
)
from conformance.vocabulary.profile_claims import SPECIFICATION

_FIX = (
    "Store the answer of a creating call under (tenant, path, Idempotency-Key) in the statement that creates the link "
    "or resource, and answer a repeat with it."
)
_REPEATS = 3
# Amounts at which a service may begin to require an Idempotency-Key.
_LARGER_AMOUNTS = (250.5, 5000.5, 75000.5)
# More calls than a usual pool has connections, so that some wait and some run at the same moment.
_AT_ONCE = 20
_ROUNDS = 3
_CONFLICT_STATUS = 409
# Half of the ten seconds for which a call waits for the first one of its key (P-ID-05).
_LEAST_WAIT_SECONDS = 5.0
_NEXT_SECOND = 1.05
# One more than usual column widths (36, 64, 128, 200), and the longest valid key: a service may cut a key off there.
_LONG_KEYS = (37, 65, 129, 201, 255)
# The first four keys of the list below differ in more than letter case, which the interface leaves open.
_EXACT_KEYS = 4
_ALL_ALIKE = "unbound: no member of a resource's answer distinguishes it from another"


def _build_body(case: Case, path: str, tenant: Credentials, amount: float = 1.25) -> dict[str, Any]:
    amount = payable(case.profile.gateway_bindings, amount)
    return link_body(case, tenant, amount=amount) if path == LINKS else resource_body(case)


@check("GW-IDEM-01", "GW-IDEM-02", surface="gateway", fix="Demand no Idempotency-Key, and take one where it is sent.")
async def the_key_is_optional(case: Case) -> None:
    """Idempotency-Key is optional on POST /v1/payment-links and on POST /v1/resources.

    Creates one of each without a key, with a short one and with a long one. Expects success each time. Creates links
    for larger amounts without a key. Expects a link if the same call with a key gets one.
    """
    tenant = case.session.tenants.get()
    if case.profile.gateway_bindings.resource_body is None:
        case.mark_inconclusive("GW-IDEM-02", "unbound: no body creates a resource; give [gateway] resource_body")
    for path in bodies(case, tenant):
        row = "GW-IDEM-01" if path == LINKS else "GW-IDEM-02"
        for key in (None, new_text(case), new_text(case, "key-" + "long-" * 8 + "key")):
            answer = name_live_values(
                case, await post(target_of(case), Creation(path, _build_body(case, path, tenant), tenant, key))
            )
            where = {"Idempotency-Key": "none" if key is None else f"of {len(key)} characters"}
            expect_created(case, row, path, answer, "created", where)
    await run_concurrently(_judge_larger_amount(case, tenant, amount) for amount in _LARGER_AMOUNTS)


async def _judge_larger_amount(case: Case, tenant: Credentials, amount: float) -> None:
    """Judge a link of a larger amount without a key.

    If the call is refused with a key as well, the missing key is not the reason.
    """
    body, where = _build_body(case, LINKS, tenant, amount), {"amount": f"{amount}"}
    answer = name_live_values(case, await post(target_of(case), Creation(LINKS, body, tenant)))
    if is_refused(answer):
        keyed_answer = name_live_values(
            case, await post(target_of(case), Creation(LINKS, body, tenant, new_text(case)))
        )
        if not is_created(case, keyed_answer):
            return
    finding, requirement = brief(answer), "a link without a key, as with one"
    case.expect("GW-IDEM-01", not is_refused(answer), requirement, finding, exchange=answer, where=where)


@check("GW-IDEM-03", "GW-IDEM-11", surface="gateway", fix=_FIX)
async def a_repeat_returns_the_original_link(case: Case) -> None:
    """Repeating POST /v1/payment-links with the same key returns the original link, under a new request id.

    Creates a link with a key, another link without one, and repeats the first call three times, the last time in
    another second. Expects token, URL, amount and expiry of the first, and another X-Request-Id.
    """
    await _judge_repeats(case, "GW-IDEM-03", LINKS)


@check("GW-IDEM-04", "GW-IDEM-11", surface="gateway", fix=_FIX)
async def a_repeat_returns_the_original_resource(case: Case) -> None:
    """Repeating POST /v1/resources with the same key returns the originally created resource.

    Creates a resource with a key, another one without, and repeats the first call three times. Expects success with the
    identifiers of the first, and another X-Request-Id.
    """
    await _judge_repeats(case, "GW-IDEM-04", RESOURCES)


async def _judge_repeats(case: Case, row: str, path: str) -> None:
    tenant = case.session.tenants.get()
    creation = Creation(path, _build_body(case, path, tenant), tenant, new_text(case))
    original = await create(case, creation)
    # A creation in between: a server that returns the last link of the tenant, and not the one of the key, fails here.
    await create(case, Creation(path, _build_body(case, path, tenant), tenant))
    ids = [original.headers.get(REQUEST_ID)]
    for number in range(_REPEATS):
        if number == _REPEATS - 1:
            # Times have whole seconds. An expiry that the server computes again differs only in another second.
            await asyncio.sleep(_NEXT_SECOND)
        answer = name_live_values(case, await post(target_of(case), creation))
        judge_original(case, row, creation, original, answer)
        ids.append(answer.headers.get(REQUEST_ID))
    all_differ = None not in ids and len(set(ids)) == len(ids)
    finding = f"{len(set(ids))} request ids in {len(ids)} answers"
    case.expect("GW-IDEM-11", all_differ, "a request id of its own for each answer", finding, exchange=original)


@check("GW-IDEM-05", surface="gateway", fix=_FIX)
async def other_keys_are_other_things(case: Case) -> None:
    """Different keys give different resources.

    Creates with several keys that are nearly alike (one more character, a common beginning) and, for links, the same
    body. Expects as many links or resources as keys. Keys that differ only in letter case are included, where a breach
    warns.

    Then creates links with pairs of keys that a server may confuse: long ones that differ in their last character, a
    letter and its escape, a number written in two ways, other punctuation. Expects two links if both keys are accepted.
    """
    tenant = case.session.tenants.get()
    for path in bodies(case, tenant):
        stem = new_text(case)
        keys = (stem, stem + "a", stem + ".", stem[:-1] + "x", stem.upper(), stem + "A")
        creations = [Creation(path, _build_body(case, path, tenant), tenant, key) for key in keys]
        answers = await run_concurrently(create(case, one) for one in creations)
        identities = [
            repr(read_identity(path, answer, one.body)) for one, answer in zip(creations, answers, strict=True)
        ]
        if len({*identities}) < len(keys) and not await _has_distinct_answers(case, path, tenant):
            case.mark_inconclusive("GW-IDEM-05", _ALL_ALIKE)
            continue
        for identity_group, beyond in (
            (identities[:_EXACT_KEYS], None),
            (identities, OpenPoint("whether letter case matters in a key is open", "P-ID-02")),
        ):
            finding, where = f"{len({*identity_group})} different ones for {len(identity_group)} keys", {"path": path}
            case.expect(
                "GW-IDEM-05",
                len({*identity_group}) == len(identity_group),
                "one for each key",
                finding,
                where=where,
                beyond=beyond,
            )
    await run_concurrently(_judge_pair(case, tenant, what, pair) for what, pair in _make_key_pairs(case).items())


def _make_key_pairs(case: Case) -> dict[str, tuple[str, str]]:
    """Return pairs of keys by the property in which the two differ."""
    stem = new_text(case)
    # A key of digits from the fresh key, so that it is new in each run and the same in a replay.
    digits = str(int.from_bytes(hashlib.sha256(stem.encode()).digest()[:6]) + 10**14)
    pairs = {f"the last of {length} characters": _keys_with_last(stem, length) for length in _LONG_KEYS}
    # Each pair collides in one kind of server: one that decodes percent escapes, parses numbers, or strips punctuation.
    pairs["an escape"] = (f"{stem}-%61", f"{stem}-a")
    pairs["how a number is written"] = (digits, f"{digits}.0")
    pairs["a leading zero"] = (f"1{digits}", f"01{digits}")
    pairs["punctuation"] = (f"{stem}-p", f"{stem}_p")
    for one in (key for pair in pairs.values() for key in pair):
        case.client.names.name(one, "KEY")
    return pairs


def _keys_with_last(stem: str, length: int) -> tuple[str, str]:
    stem_to_length = stem.ljust(length - 1, "x")
    return stem_to_length + "a", stem_to_length + "b"


async def _judge_pair(case: Case, tenant: Credentials, difference: str, pair: tuple[str, str]) -> None:
    creations = [Creation(LINKS, _build_body(case, LINKS, tenant), tenant, key) for key in pair]
    first, second = [name_live_values(case, await post(target_of(case), one)) for one in creations]
    if not is_created(case, first) or is_refused(second):
        case.note(f"of two keys that differ in {difference} one is not accepted: {first.status} and {second.status}")
        return
    is_separate = is_created(case, second) and first.read_object().get("token") != second.read_object().get("token")
    finding = f"{second.status} with {'another' if is_separate else 'the same'} token"
    where = {"the keys differ in": difference}
    case.expect("GW-IDEM-05", is_separate, "two links", finding, exchange=second, where=where)


async def _has_distinct_answers(case: Case, path: str, tenant: Credentials) -> bool:
    """Return whether answers identify what they created.

    A link has a token, but a resource may have no distinct member.
    """
    if path == LINKS:
        return True
    plain = [Creation(path, _build_body(case, path, tenant), tenant) for _ in range(2)]
    first, second = [repr(read_identity(path, await create(case, one), one.body)) for one in plain]
    return first != second


@check("GW-IDEM-06", surface="gateway", fix=_FIX)
async def a_changed_body_creates_nothing(case: Case) -> None:
    """The same key with a changed body never creates a second resource.

    Creates with a key and sends other bodies under it (another amount, another label). Expects the original or a
    refusal. Expects that the first body still gets the original, that the link's page still shows the same amount, and
    that the name of a refused resource is still free.
    """
    tenant = case.session.tenants.get()
    for path in bodies(case, tenant):
        creation = Creation(path, _build_body(case, path, tenant), tenant, new_text(case))
        original = await create(case, creation)
        page_amount = await _read_page_amount(case, original) if path == LINKS else None
        for changed_body in _changed_bodies(case, creation):
            await _judge_second_creation(case, creation, original, changed_body)
        # A server can answer with the original and still change the stored link. Only the page shows that.
        if page_amount is not None:
            amount_after = await _read_page_amount(case, original)
            finding, where = "another amount" if amount_after is None else amount_after, {"place": "the link's page"}
            case.expect("GW-IDEM-06", amount_after is not None, f"still {page_amount}", finding, where=where)
        answer = name_live_values(case, await post(target_of(case), creation))
        differing_members = find_differences(*(read_identity(path, one, creation.body) for one in (original, answer)))
        finding = f"{answer.status}, differing in {', '.join(differing_members) or 'nothing'}"
        holds = is_created(case, answer) and not differing_members
        case.expect("GW-IDEM-06", holds, "still the original", finding, exchange=answer, where={"path": path})


async def _read_page_amount(case: Case, original: Answer) -> str | None:
    """Return how a link's page writes the amount of the link, or None if the page does not show it."""
    url, microunits = (original.read_object().get(name) for name in ("checkout_url", "amount_microunits"))
    if not isinstance(url, str) or not isinstance(microunits, int):
        return None
    view, _ = await case.session.pages.look(case.client, url)
    return view.shown_amount(microunits)


def _changed_bodies(case: Case, creation: Creation) -> list[dict[str, Any]]:
    body = dict(creation.body)
    if creation.path == LINKS:
        bindings = case.profile.gateway_bindings
        other_amount, near_amount = (payable(bindings, amount) for amount in (2.5, 1.250001))
        # The last change is one micro-unit: a server that hashes a rounded amount takes it for the same body.
        changes = (
            {"amount": other_amount},
            {"label": label_of(bindings, "Weldproof order, changed")},
            {"amount": near_amount},
        )
        return [{**body, **change} for change in changes]
    return [{**body, **resource_body(case)}] if has_unique(case.profile.gateway_bindings) else []


async def _judge_second_creation(
    case: Case, creation: Creation, original: Answer, changed_body: dict[str, Any]
) -> None:
    answer = name_live_values(
        case, await post(target_of(case), Creation(creation.path, changed_body, creation.tenant, creation.key))
    )
    is_refusal = judge_nothing_second(case, "GW-IDEM-06", creation, original, answer, {"path": creation.path})
    if is_refusal and creation.path == RESOURCES:
        repeat_answer = name_live_values(
            case, await post(target_of(case), Creation(RESOURCES, changed_body, creation.tenant))
        )
        finding = brief(repeat_answer)
        where = {"path": creation.path}
        case.expect(
            "GW-IDEM-06",
            is_created(case, repeat_answer),
            "its name still free",
            finding,
            exchange=repeat_answer,
            where=where,
        )


@check("GW-IDEM-07", surface="gateway", fix=_FIX)
async def concurrent_calls_create_one(case: Case) -> None:
    """Concurrent requests with the same key create at most one resource.

    Sends the same creation 20 times concurrently on separate connections, three times on each endpoint, and once more
    afterwards. Expects the same object in all answers that succeed. The others may be refused or deferred. A target
    that claims the specification lets them wait for the first answer for ten seconds (P-ID-05), so none of them may be
    refused with 409 in less than half of that.
    """
    tenant = case.session.tenants.get()
    for path in bodies(case, tenant):
        for _ in range(_ROUNDS):
            creation = Creation(path, _build_body(case, path, tenant), tenant, new_text(case))
            answers = await run_concurrently(
                (post(target_of(case), creation) for _ in range(_AT_ONCE)), at_once=_AT_ONCE
            )
            # The race attacks servers that look the key up before they insert it. The late call sees the winner that
            # was stored.
            answers.append(await post(target_of(case), creation))
            successes = [name_live_values(case, answer) for answer in answers if is_created(case, answer)]
            if not successes:
                raise Inconclusive(f"none of {len(answers)} creations with one key succeeded: {answers[-1].status}")
            identities = {repr(read_identity(path, answer, creation.body)) for answer in successes}
            finding = f"{len(identities)} different ones in {len(successes)} answers"
            case.expect(
                "GW-IDEM-07", len(identities) == 1, "one", finding, exchange=successes[-1], where={"path": path}
            )
            if case.profile.claims.includes(SPECIFICATION):
                hasty = [one for one in answers if one.status == _CONFLICT_STATUS and one.seconds < _LEAST_WAIT_SECONDS]
                finding = f"{len(hasty)} of {len(answers)} were refused with 409 at once"
                sample, where = (hasty or successes)[0], {"path": path, "clause": "P-ID-05"}
                expectation = "calls that wait for the first one"
                case.expect("GW-IDEM-07", not hasty, expectation, finding, exchange=sample, where=where)


@check("GW-IDEM-08", surface="gateway", fix=_FIX)
async def a_key_belongs_to_its_tenant(case: Case) -> None:
    """The same key used by two tenants never returns one tenant's resource to the other.

    Creates as one tenant with a key, and as the other with the same key and the same body. The network of a link
    differs if the tenants' networks do. Expects a separate link or resource for each tenant, whichever comes first.
    """
    first, second = case.session.tenants.get("first"), case.session.tenants.get("second")
    # Both orders, because a leak may depend on which tenant used the key first.
    for owner, other_tenant in ((first, second), (second, first)):
        for path in bodies(case, owner):
            key, body = new_text(case), _build_body(case, path, owner)
            creation = Creation(path, body, owner, key)
            original = await create(case, creation)
            their_body = body if path == RESOURCES else {**body, **_preferred_network(case, other_tenant)}
            answer = name_live_values(case, await post(target_of(case), Creation(path, their_body, other_tenant, key)))
            my_identity, their_identity = read_identity(path, original, body), read_identity(path, answer, body)
            shared_members = sorted(
                name
                for name in my_identity
                if my_identity[name] is not None and my_identity[name] == their_identity.get(name)
            )
            is_separate = (
                not set(shared_members) & {"token", "checkout_url"}
                if path == LINKS
                else not (my_identity and my_identity == their_identity)
            )
            if not is_separate and not await _has_distinct_answers(case, path, owner):
                case.mark_inconclusive("GW-IDEM-08", _ALL_ALIKE, exchange=answer)
                continue
            finding = f"{answer.status}, sharing {', '.join(shared_members) or 'nothing'}"
            where = {"path": path, "owner": owner.name}
            case.expect(
                "GW-IDEM-08", is_separate, "a separate one for each tenant", finding, exchange=answer, where=where
            )


def _preferred_network(case: Case, tenant: Credentials) -> dict[str, str]:
    network = link_body(case, tenant).get("preferred_network")
    return {} if network is None else {"preferred_network": network}
