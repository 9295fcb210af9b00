"""GW-LINK-01 to -16 and -18: the answer to the creation of a payment link."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from conformance.engine.check import Case, check, log_shortened_part
from conformance.engine.clock import now
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.tenant_credentials import Credentials
from conformance.http.client import Answer
from conformance.outcome import Inconclusive
from conformance.surfaces import binding_hints
from conformance.surfaces.gateway.administration import administrator
from conformance.surfaces.gateway.calls import (
    CHECKOUT,
    LINKS,
    Creation,
    brief,
    create_link,
    is_created,
    is_refused,
    link_body,
    name_live_values,
    post,
    short,
    target_of,
    token_of,
)
from conformance.surfaces.gateway.refusal_hints import explain_open_value
from conformance.text.times import utc_time
from conformance.vocabulary.profile_claims import TENANTS

_AT_ONCE = 10
# With fewer networks there is only one order, and the default network cannot be wrong.
_NETWORKS_WITH_AN_ORDER = 2
# At least two parts joined by hyphens, and no colon as in a CAIP-2 id.
_HYPHEN_FORM = re.compile(r"[^-\s:]+(-[^-\s:]+)+")


@check(
    "GW-LINK-01",
    "GW-LINK-02",
    "GW-LINK-03",
    "GW-LINK-04",
    "GW-LINK-05",
    "GW-LINK-06",
    surface="gateway",
    fix="Answer a creation with a JSON object: checkout_url, token, chain and expires_at as texts, amount_microunits "
    "as an integer.",
)
async def a_link_has_its_members(case: Case) -> None:
    """POST /v1/payment-links with amount, currency, label and preferred_network succeeds with a JSON object.

    Creates a link on each network that the tenant is paid on, and one for a whole number. Expects that at least one
    creation succeeds. Expects an object with the five members in their types from every one that does, and that a whole
    number is accepted if a fraction is.
    """
    creations = await _create_on_each_network(case)
    finding = "; ".join(f"{network}: {answer.status} {short(answer)}" for network, answer in creations)[:300]
    successes = [(network, answer) for network, answer in creations if is_created(case, answer)]
    open_point = next(
        (one for _, answer in creations if (one := explain_open_value(case.profile, LINKS, answer)) is not None), None
    )
    if not successes and open_point is not None:
        raise Inconclusive(open_point)
    # When every creation fails, wrong credentials in the profile are likelier than a fault of the gateway.
    hint = binding_hints.of_credentials(creations[0][1])
    case.expect("GW-LINK-01", bool(successes), "a created link", finding, exchange=creations[0][1], hint=hint)
    if successes:
        whole_number_answer = await _create_for_whole_number(case)
        successes += [("", whole_number_answer)] if is_created(case, whole_number_answer) else []
    for network, answer in successes:
        body, where = answer.read_object(), {"network": network}
        texts = {"GW-LINK-02": "checkout_url", "GW-LINK-03": "token", "GW-LINK-04": "chain", "GW-LINK-06": "expires_at"}
        for row, member in texts.items():
            value = body.get(member)
            holds = isinstance(value, str) and bool(value)
            case.expect(row, holds, f"{member} as a text", _describe_member(body, member), exchange=answer, where=where)
        amount = body.get("amount_microunits")
        holds = isinstance(amount, int) and not isinstance(amount, bool)
        finding_of_amount = _describe_member(body, "amount_microunits")
        case.expect(
            "GW-LINK-05", holds, "amount_microunits as an integer", finding_of_amount, exchange=answer, where=where
        )


async def _create_for_whole_number(case: Case) -> Answer:
    """Return the answer of a link whose amount has no fraction.

    A refusal is judged if the same link with a fraction is created.
    """
    tenant, bindings = case.session.tenants.get(), case.profile.gateway_bindings
    amount = max(2, math.ceil(float(bindings.smallest_amount or 0)))
    answer = name_live_values(
        case, await post(target_of(case), Creation(LINKS, link_body(case, tenant, amount=amount), tenant))
    )
    if is_refused(answer):
        fraction_body = link_body(case, tenant, amount=amount + 0.25)
        is_accepted = is_created(case, await post(target_of(case), Creation(LINKS, fraction_body, tenant)))
        finding, where = brief(answer), {"amount": str(amount)}
        requirement = "a link for a whole number, as for a fraction"
        case.expect("GW-LINK-01", not is_accepted, requirement, finding, exchange=answer, where=where)
    return answer


def _describe_member(body: Mapping[str, Any], member: str) -> str:
    return f"{type(body[member]).__name__} {body[member]!r}" if member in body else "no such member"


async def _create_on_each_network(case: Case) -> list[tuple[str, Answer]]:
    """Return (network, answer) of one creation on each network of each tenant. A key may not reach all of them."""
    tenants = [case.session.tenants.get(name) for name in case.profile.tenants] or [case.session.tenants.get()]
    targets = [(tenant, network) for tenant in tenants for network in tenant.networks or ("",)]
    answers = await run_concurrently(
        post(target_of(case), Creation(LINKS, link_body(case, tenant, **_network_member(network)), tenant))
        for tenant, network in targets
    )
    return [(network, name_live_values(case, answer)) for (_, network), answer in zip(targets, answers, strict=True)]


def _network_member(network: str) -> dict[str, str]:
    return {"preferred_network": network} if network else {}


@check(
    "GW-LINK-07",
    "GW-LINK-08",
    "GW-LINK-09",
    surface="gateway",
    fix="Make checkout_url of the gateway's public address, /checkout/ and the token; the token is one path segment.",
)
async def the_checkout_address_ends_with_the_token(case: Case) -> None:
    """`checkout_url` lies under the gateway's address, has the path /checkout/<token>, and ends with `token`.

    Creates two links, and one on each network that the tenants are paid on. Expects that address, path and token fit
    each other in every link that is created.
    """
    answers = [await create_link(case) for _ in range(2)]
    answers += [answer for _, answer in await _create_on_each_network(case) if is_created(case, answer)]
    for answer in answers:
        body = answer.read_object()
        url, token = str(body.get("checkout_url", "")), token_of(answer)
        is_under, path = address_parts(case.session.gateway, url)
        case.expect("GW-LINK-07", is_under, f"under {case.session.gateway}", url, exchange=answer)
        has_path = path is not None and re.fullmatch(r"/checkout/[^/?#]+", path) is not None
        case.expect("GW-LINK-08", has_path, f"{CHECKOUT}<token>", url, exchange=answer)
        is_same = token is not None and url.rsplit("/", 1)[-1] == token
        case.expect("GW-LINK-09", is_same, "the last segment equal to token", url, exchange=answer)


def address_parts(base: str, url: str) -> tuple[bool, str | None]:
    """Return whether `url` is below `base`, and the path that follows, else the path of `url`."""
    try:
        own_parts, other_parts = urlsplit(base), urlsplit(url)
        is_same_origin = (own_parts.scheme, own_parts.hostname, own_parts.port or _default_port(own_parts.scheme)) == (
            other_parts.scheme,
            other_parts.hostname,
            other_parts.port or _default_port(other_parts.scheme),
        )
    except ValueError:
        return False, None
    prefix = own_parts.path.rstrip("/")
    path_and_query = (
        other_parts.path
        + (f"?{other_parts.query}" if other_parts.query else "")
        + (f"#{other_parts.fragment}" if other_parts.fragment else "")
    )
    # User information in an address (`https://gateway.example@elsewhere/`) shows one host to a reader and leads to
    # another.
    is_under = is_same_origin and (other_parts.path + "/").startswith(prefix + "/") and other_parts.username is None
    return is_under, path_and_query.removeprefix(prefix) if is_under else path_and_query


def _default_port(scheme: str) -> int:
    # An address may name the default port or leave it out.
    return {"http": 80, "https": 443}.get(scheme, 0)


@check(
    "GW-LINK-10",
    "GW-LINK-11",
    "GW-LINK-12",
    "GW-LINK-18",
    surface="gateway",
    fix="Accept the underscore name of every network that is offered; write the same network with a hyphen in chain.",
)
async def a_link_names_the_network_that_was_asked_for(case: Case) -> None:
    """`chain` is the network that `preferred_network` requested with underscores, written with a hyphen.

    Creates a link on each network that the tenants are paid on, twice. Expects the hyphen form of that network each
    time, one form for each network, and at least two different chains. If a network is refused to all tenants, expects
    that its hyphen form is not accepted instead.
    """
    creations = [*await _create_on_each_network(case), *await _create_on_each_network(case)]
    await _judge_hyphen_forms(case, creations)
    successes = [(network, answer) for network, answer in creations if network and is_created(case, answer)]
    if not successes:
        open_point = next(
            (one for _, answer in creations if (one := explain_open_value(case.profile, LINKS, answer))), None
        )
        raise Inconclusive(
            open_point or "no link was created on a network that the profile names; give [tenants.first] networks"
        )
    forms_by_network: dict[str, set[str]] = {}
    for network, answer in successes:
        chain, where = answer.read_object().get("chain"), {"network": network}
        case.expect("GW-LINK-12", "_" in network, "an underscore name accepted", network, exchange=answer, where=where)
        hyphen = isinstance(chain, str) and _HYPHEN_FORM.fullmatch(chain) is not None
        case.expect("GW-LINK-10", hyphen, "parts joined by a hyphen", chain, exchange=answer, where=where)
        label = case.profile.network_label(network)
        if label is not None:
            case.expect("GW-LINK-11", chain == label, label, chain, exchange=answer, where=where)
        forms_by_network.setdefault(network, set()).add(str(chain))
    # Two rounds were made, so a network with two forms, or two networks with one form, shows here.
    one_each = all(len(found) == 1 for found in forms_by_network.values())
    all_differ = len({form for found in forms_by_network.values() for form in found}) >= len(forms_by_network)
    case.expect("GW-LINK-11", one_each and all_differ, "one form for each network, no two alike", forms_by_network)
    chains = {form.partition("-")[0] for found in forms_by_network.values() for form in found}
    if len({case.profile.usual_network(network).partition("_")[0] for network, _ in creations}) < 2:
        _leave_single_chain(case)
    else:
        case.expect("GW-LINK-18", len(chains) > 1, "links on two chains at least", sorted(chains))


@check(
    "GW-LINK-11",
    surface="gateway",
    fix="Keep the order in which a tenant's networks were configured, and make a link that names none on the first.",
)
async def a_link_without_a_network_is_on_the_first(case: Case) -> None:
    """A link that names no network is on the first one that its tenant configured (3.4).

    Requires an administrator's key. Creates tenants with the same networks in the order of their names and in the
    reverse order. Creates links for each without `preferred_network` and with null. Expects the `chain` of a link that
    requests the first network by name. Without an administrator's key the default network is left open.
    """
    if not case.profile.claims.includes(TENANTS) or case.profile.gateway.admin_key is None:
        case.mark_not_applicable("GW-LINK-11", "the profile names no administrator of a gateway with that option")
        return
    admin, payout = administrator(case), case.session.tenants.get().payout
    chains = await _list_chains(case, await admin.create_tenant("Weldproof networks", payout))
    if len(chains) < _NETWORKS_WITH_AN_ORDER:
        case.mark_not_applicable(
            "GW-LINK-11", "a new tenant has links on one network only, so no other can be the first"
        )
        return
    for order in (sorted(chains), sorted(chains, reverse=True)):
        # Both orders: if the default were the first by name, one order alone would not reveal it.
        tenant = await admin.create_tenant(
            "Weldproof order of networks", {network: payout[network] for network in order}
        )
        other_members = {name: value for name, value in link_body(case, tenant).items() if name != "preferred_network"}
        for variant, members in (("no member", {}), ("null", {"preferred_network": None})):
            answer = name_live_values(
                case, await post(target_of(case), Creation(LINKS, {**other_members, **members}, tenant))
            )
            chain, wanted_chain = answer.read_object().get("chain"), chains[order[0]]
            is_first, where = is_created(case, answer) and chain == wanted_chain, {"preferred_network": variant}
            finding = f"{answer.status} {chain}"
            case.expect(
                "GW-LINK-11", is_first, f"the first network, {wanted_chain}", finding, exchange=answer, where=where
            )


async def _list_chains(case: Case, tenant: Credentials) -> dict[str, object]:
    """Return `chain` of a link on each network that a tenant has links on, by the network's name."""
    chains = {}
    for network in tenant.payout:
        body = link_body(case, tenant, preferred_network=network)
        answer = name_live_values(case, await post(target_of(case), Creation(LINKS, body, tenant)))
        if is_created(case, answer):
            chains[network] = answer.read_object().get("chain")
    return chains


async def _judge_hyphen_forms(case: Case, creations: Sequence[tuple[str, Answer]]) -> None:
    """Judge networks on which no tenant gets a link: if the hyphen form gets one, the spelling was the reason."""
    accepted_networks = {network for network, answer in creations if is_created(case, answer)}
    for network in dict.fromkeys(
        network for network, _ in creations if "_" in network and network not in accepted_networks
    ):
        hyphens = case.profile.network_label(network) or network.replace("_", "-")
        tenants = [case.session.tenants.get(name) for name in case.profile.tenants] or [case.session.tenants.get()]
        for tenant in (one for one in tenants if network in one.networks):
            body = link_body(case, tenant, preferred_network=hyphens)
            answer = name_live_values(case, await post(target_of(case), Creation(LINKS, body, tenant)))
            where = {"network": network}
            if is_created(case, answer) and answer.read_object().get("chain") == hyphens:
                finding = f"{hyphens} only"
                case.expect("GW-LINK-12", False, f"{network} accepted", finding, exchange=answer, where=where)


def _leave_single_chain(case: Case) -> None:
    if len(case.profile.claims.lanes) == 1:
        case.mark_not_applicable("GW-LINK-18", f"the profile claims one lane only, {case.profile.claims.lanes[0]}")
        what = "chains: the profile claims one lane, and a gateway must offer links on two (GW-LINK-18)"
        log_shortened_part(case.log, replace(case.check, rows=("GW-LINK-18",)), what, 1, 2)
    else:
        case.mark_inconclusive(
            "GW-LINK-18", "the profile names networks of one chain; give more in [tenants.first] networks"
        )


@check(
    "GW-LINK-14",
    "GW-LINK-15",
    surface="gateway",
    fix="Write expires_at as an ISO 8601 time in UTC with Z, later than the creation.",
)
async def a_link_tells_when_it_expires(case: Case) -> None:
    """`expires_at` is an ISO 8601 time in UTC in the future.

    Creates a link. Expects a date and a time with Z or +00:00, later than now by the target's clock.
    """
    answer = await create_link(case)
    text = answer.read_object().get("expires_at")
    expires = utc_time(text)
    case.expect("GW-LINK-14", expires is not None, "an ISO 8601 time in UTC", text, exchange=answer)
    if expires is None:
        case.mark_inconclusive("GW-LINK-15", "expires_at cannot be read, which GW-LINK-14 judges")
        return
    is_future = expires.timestamp() > now(case)
    case.expect("GW-LINK-15", is_future, "in the future", f"{text}, now {now(case)}", exchange=answer)


@check(
    "GW-LINK-16",
    surface="gateway",
    fix="Draw a new token from a secure random source for every link; without an Idempotency-Key nothing is a repeat.",
)
async def two_creations_are_two_links(case: Case) -> None:
    """Two creations without an Idempotency-Key give two different tokens.

    Creates a link twice with the same body, one after the other, and then ten concurrently. Expects as many tokens.
    """
    tenant = case.session.tenants.get()
    answers = [await create_link(case, tenant), await create_link(case, tenant)]
    answers += await run_concurrently(create_link(case, tenant) for _ in range(_AT_ONCE))
    # Tokens that are derived from the body or the second of the creation are equal here.
    tokens = [token_of(answer) for answer in answers]
    finding = f"{len(set(tokens))} tokens for {len(tokens)} links"
    case.expect("GW-LINK-16", len(set(tokens)) == len(tokens), "a token for each", finding, exchange=answers[-1])
