"""The report of a first look, as text and as JSON: kind of the server, requirements, grade, and next steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from conformance.first_look.look import Look, by_needs
from conformance.first_look.payment_estimate import Paying, estimate_payment
from conformance.first_look.x402_rules import NOT_VERIFIED, Judged
from conformance.ledger import load
from conformance.outcome import Verdict
from conformance.report.conclusion import SURFACES
from conformance.report.detail import place
from conformance.report.row_result import RowResult
from conformance.text.target_text_escaping import one_line
from conformance.text.usdc import in_usdc
from conformance.vocabulary.networks import network_named

_WORDS: Final = {Verdict.PASS: "ok", Verdict.FAIL: "FAIL", Verdict.WARN: "WARN"}
_SAFER: Final = (
    "Why a weld is safer: a client that pays by `exact` signs payee, amount, a time window and a random nonce, but no "
    "part of the request. Until the payment is settled, any party that sees it can present it for another call "
    "of the same price, or settle it. Only the server remembers which call it was for. A weld makes the payment carry "
    "the "
    "challenge that it answers (on EVM chains the nonce is the hash of the challenge's token). The payment then buys "
    "only that call, and the server recognises a repeat after a crash."
)


def grade(look: Look) -> str:
    """Return the grade in a sentence, which never claims more than was tested."""
    tried_count = look.count(Verdict.PASS, Verdict.FAIL, Verdict.WARN)
    broken_count, warning_count = look.count(Verdict.FAIL), look.count(Verdict.WARN)
    # Many breaches can have one cause, such as terms of version 1. A grade that only counted them
    # would mislead.
    causes = Counter(one.cause for one in look.rules if one.cause is not None)
    ids = [one.rule.id for one in look.rules if one.found.startswith(NOT_VERIFIED)]
    unverified_text = f"; not verified: {', '.join(ids)}" if ids else ""
    if look.count(Verdict.ERROR):
        return "none: the suite itself is at fault"
    if not tried_count:
        return "none: no demand could be judged"
    if broken_count:
        details = "".join(f", {count} of them by one cause, {cause}" for cause, count in causes.items())
        details += f", and {warning_count} recommendations" if warning_count else ""
        return f"broken: it breaks {broken_count} of {tried_count} demands that were tried{details}{unverified_text}"
    if warning_count:
        weak = f"{warning_count} of {tried_count} demands, which it should keep but need not"
        return f"sound except for {weak}{unverified_text}"
    return (
        f"sound as far as can be seen without paying: no breach in {tried_count} demands that were tried"
        f"{unverified_text}"
    )


def lines(look: Look) -> Iterator[tuple[str, str]]:
    """Yield each line with its style: `title`, `ok`, `fail`, `warn`, `dim` or empty."""
    yield from _seems(look)
    if look.rules:
        challenge = look.server.challenge
        where = "" if challenge is None else f" ({challenge.method} {one_line(challenge.url, 200)})"
        yield "", ""
        yield f"What x402 version 2 and its clients demand of a 402{where}", "title"
        yield from _rules(look.rules)
    if look.judged_rows:
        yield "", ""
        yield "Requirements that can be judged without paying, a part of each", "title"
        for row in look.judged_rows:
            yield from _row(look, row)
    yield from _not_judged(look)
    yield "", ""
    style = {True: "fail", False: "ok"}[bool(look.count(Verdict.FAIL, Verdict.ERROR))]
    yield f"Grade: {grade(look)}.", "warn" if style == "ok" and look.count(Verdict.WARN) else style
    for text in next_steps(look):
        yield text, ""


def _seems(look: Look) -> Iterator[tuple[str, str]]:
    server = look.server
    is_known = bool(server.surfaces) or server.challenge is not None
    yield f"{one_line(server.url, 300)} seems to be{'' if is_known else ' nothing that the suite knows'}", "title"
    for surface, why in server.surfaces.items():
        yield f"  {SURFACES[surface]} at {one_line(server.base, 200)}: {one_line(why, 300)}", ""
    if server.challenge is not None:
        yield f"  {one_line(kind(look), 400)}", ""
    for trouble in server.trouble:
        yield f"  not tested completely: {one_line(trouble, 400)}", "warn"


def kind(look: Look) -> str:
    """Return the kind of the x402 server, judged by its 402."""
    challenge = look.server.challenge
    if challenge is None:
        return "no x402 server"
    if challenge.is_version_one:
        return (
            "An x402 server of version 1: its terms are in the body, and there is no PAYMENT-REQUIRED header. Clients "
            "that read only version 2 cannot pay it. Clients that also read version 1 can, such as the current Python "
            "client"
        )
    schemes = sorted({str(one.get("scheme")) for one in challenge.offers})
    networks = [
        known.name if (known := network_named(one.get("network"))) else str(one.get("network"))
        for one in challenge.offers
    ]
    offers = f"offers of {', '.join(schemes)} on {', '.join(dict.fromkeys(networks))}" if schemes else "no offer"
    weld = "welded: each payment is bound to its challenge" if challenge.is_welded else "no weld"
    return f"An x402 server: {challenge.method} is answered {challenge.status} with {offers} ({weld})"


def _rules(rules: Sequence[Judged]) -> Iterator[tuple[str, str]]:
    """Yield the rules. Those that one cause breaks are listed together, with one remedy, at the first of them."""
    listed_causes: set[str] = set()
    for judged_rule in rules:
        if judged_rule.cause is None:
            yield from _rule(judged_rule)
        elif judged_rule.cause not in listed_causes:
            listed_causes.add(judged_rule.cause)
            group = [grouped_rule for grouped_rule in rules if grouped_rule.cause == judged_rule.cause]
            yield (
                f"  FAIL  one cause, {judged_rule.cause}: {', '.join(grouped_rule.rule.id for grouped_rule in group)}",
                "fail",
            )
            for grouped_rule in group:
                yield f"        {grouped_rule.rule.id}  {grouped_rule.rule.sentence}", ""
                yield f"        found     {one_line(grouped_rule.found, 400)}", ""
            yield f"        fix    {judged_rule.fix}", ""


def _rule(judged_rule: Judged) -> Iterator[tuple[str, str]]:
    rule = judged_rule.rule
    if judged_rule.verdict in _WORDS:
        yield f"  {_WORDS[judged_rule.verdict]:4}  {rule.id}  {rule.sentence}", _style(judged_rule.verdict)
    else:
        yield f"  -     {rule.id}  {rule.sentence}: {judged_rule.found}", "dim"
    if judged_rule.verdict in {Verdict.FAIL, Verdict.WARN}:
        yield f"        found  {one_line(judged_rule.found, 400)}", ""
        yield f"        fix    {judged_rule.fix} ({rule.source})", ""


def _row(look: Look, row: RowResult) -> Iterator[tuple[str, str]]:
    yield f"  {_WORDS[row.verdict]:4}  {row.id}  {row.requirement.sentence}", _style(row.verdict)
    for finding in row.against[:1]:
        if tried := place(finding):
            yield f"        tried     {one_line(tried, 400)}", ""
        yield f"        expected  {one_line(finding.expected, 400)}", ""
        if finding.found is not None:
            yield f"        found     {one_line(finding.found, 400)}", ""
        if finding.hint is not None:
            yield f"        fix       {one_line(finding.hint, 400)}", ""
        exchange = None if look.summary is None else look.summary.exchanges.get(finding.exchange or 0)
        if exchange is not None:
            yield f"        curl      {exchange.command(1000, elsewhere='--json prints it')}", ""


def _style(verdict: Verdict) -> str:
    return {Verdict.FAIL: "fail", Verdict.WARN: "warn"}.get(verdict, "")


def _not_judged(look: Look) -> Iterator[tuple[str, str]]:
    if look.open_rows:
        yield "", ""
        yield "Not judged, and what is needed", "title"
        for words, rows in by_needs(look.open_rows).items():
            yield f"  {len(rows):3}  {words} ({_groups(tuple(row.id for row in rows))})", ""
    if reasons := dict(not_applying(look)):
        yield "", ""
        because = "; ".join(f"{len(ids)} because {reason}" for reason, ids in reasons.items())
        yield f"{sum(map(len, reasons.values()))} requirements do not apply: {because}", "dim"
    if is_stock(look):
        yield "", ""
        yield _SAFER, ""


def is_stock(look: Look) -> bool:
    """Return whether the server sells by plain x402, without a weld."""
    challenge = look.server.challenge
    return (
        challenge is not None
        and bool(challenge.offers)
        and not challenge.is_welded
        and "rail" not in look.server.surfaces
    )


def not_applying(look: Look) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield reasons why requirements do not apply to a server without a weld, each with the ids."""
    if not is_stock(look):
        return
    rail = tuple(row.id for row in load() if row.surface == "rail")
    yield "its offers contain no extra.payment_reference, so no payment is bound to its challenge", rail
    other_rows = tuple(row.id for row in load() if row.surface not in {"rail", "shared", *look.server.surfaces})
    yield "no gateway, agent, control plane or webhooks were found", other_rows


def _groups(ids: tuple[str, ...]) -> str:
    counts = Counter("-".join(one.split("-")[:2]) for one in ids)
    return ", ".join(f"{group} {count}" for group, count in counts.items())


def next_steps(look: Look) -> Iterator[str]:
    """Yield sentences about further tests and their commands."""
    adds = estimate_payment(look)
    if adds is not None:
        yield would_pay(adds)
    base = look.server.base
    if "gateway" in look.server.surfaces:
        yield f"To judge more, give a tenant's key: weldproof init {base} --tenant ID=VARIABLE, then weldproof run."
    elif look.summary is not None:
        yield f"For a verdict, run the suite: weldproof init {base}, then weldproof run."
    if is_stock(look):
        yield "A payment would not add a requirement here: the suite only pays offers that carry a weld."


def would_pay(adds: Paying) -> str:
    """Return the sentence about the price and the benefit of a paying run."""
    price = "the price of its calls" if adds.units is None else f"about {in_usdc(adds.units)} USDC"
    if adds.is_free:
        return f"Would pay {price} on test networks to judge {adds.rows} more: --pay"
    places = ", ".join(adds.on_main_networks) or "networks that the suite does not know"
    return (
        f"Would pay {price} to judge {adds.rows} more: --pay. What it offers is on {places}. That is real money, "
        f"unless its nodes are simulated. To avoid it, let the server offer a test network."
    )


def as_json(look: Look) -> dict[str, Any]:
    """Return the look as a JSON object."""
    server, adds = look.server, estimate_payment(look)
    challenge = server.challenge
    return {
        "url": server.url,
        "seconds": round(look.seconds, 3),
        "exit_code": int(look.exit_code),
        "grade": grade(look),
        "surfaces": [{"surface": name, "url": server.base, "why": why} for name, why in server.surfaces.items()],
        "trouble": server.trouble,
        "x402": None
        if challenge is None
        else {
            "method": challenge.method,
            "url": challenge.url,
            "kind": kind(look),
            "welded": challenge.is_welded,
            "rules": [one.as_json() for one in look.rules],
        },
        "requirements": [_row_json(look, row) for row in look.judged_rows],
        "not_judged": [
            {"takes": words, "rows": [row.id for row in rows]} for words, rows in by_needs(look.open_rows).items()
        ],
        "not_applicable": [{"reason": reason, "rows": list(ids)} for reason, ids in not_applying(look)],
        "paying": None if adds is None else {"rows": adds.rows, "units": adds.units, "test_networks": adds.is_free},
        "next": list(next_steps(look)),
    }


def _row_json(look: Look, row: RowResult) -> dict[str, Any]:
    members = {"id": row.id, "verdict": row.verdict.value, "level": row.requirement.level}
    findings = []
    for finding in row.against:
        exchange = None if look.summary is None else look.summary.exchanges.get(finding.exchange or 0)
        curl = None if exchange is None else exchange.curl
        texts = {"expected": finding.expected, "found": finding.found, "fix": finding.hint, "curl": curl}
        findings.append({"tried": place(finding), **texts})
    return {**members, "sentence": row.requirement.sentence, "findings": findings}
