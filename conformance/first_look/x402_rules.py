"""Rules that x402 version 2 and its clients set for any 402; each rule is a function of the answer.

The rules are those of the specification's PaymentRequired (section 5.1), of its HTTP transport and of the scheme
`exact`. Where the specification says less than its clients need to pay, `source` names the clients.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import SplitResult, urljoin, urlsplit

from conformance.first_look import version_one
from conformance.first_look.contradictions import contradictions
from conformance.first_look.x402_answer import ChallengeAnswer
from conformance.oracles.addresses import is_address, is_caip2
from conformance.oracles.challenge_schema import atomic_amount
from conformance.outcome import Verdict
from conformance.surfaces.rail.purchase import lane_of
from conformance.text.target_text_escaping import one_line
from conformance.vocabulary.lanes.registry import FACTS
from conformance.vocabulary.networks import NETWORKS, network_named

SPEC: Final = "x402 version 2, section 5.1"
TRANSPORT: Final = "x402 version 2, HTTP transport"
EXACT: Final = "x402 version 2, scheme exact"
# EIP-712 domain in the token's contract. A signature for another domain can never be settled.
_DOMAINS: Final[Mapping[str, tuple[str, str]]] = {"eip155:8453": ("USD Coin", "2"), "eip155:84532": ("USDC", "2")}
# Prefix of the text of a rule that cannot be decided from outside.
NOT_VERIFIED: Final = "not verified: "
# The usual limit of HTTP libraries and proxies for one line is 8 KiB, with its name.
_LONGEST_HEADER: Final = 8000
_EVM: Final = "eip155"
_USDC_NAMES: Final = frozenset({"USDC", "USD Coin"})
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_PORTS: Final[Mapping[str, int]] = {"http": 80, "https": 443}
_SOLANA: Final = "solana"
_NO_KEEPING: Final = frozenset({"no-store", "private", "no-cache"})


@dataclass(frozen=True, slots=True)
class Unverified:
    """The reason why a rule cannot be decided from outside. Such a rule is neither kept nor broken."""

    why: str


# Faults in words, empty if the rule is kept; None if it does not apply.
Faults: TypeAlias = list[str] | Unverified | None


@dataclass(frozen=True, slots=True)
class Rule:
    """One demand on a 402.

    Attributes:
        id: Stable id such as `X402-07`.
        sentence: The demand.
        level: Whether a breach fails or only warns.
        source: The specification or the clients that demand it.
        fix: The repair.
        faults: Returns the faults of an answer.
    """

    id: str
    sentence: str
    level: Literal["MUST", "SHOULD"]
    source: str
    fix: str
    faults: Callable[[ChallengeAnswer], Faults]


@dataclass(frozen=True, slots=True)
class Judged:
    """A rule with its verdict; `found` contains the faults, or why it was not judged.

    Breaches of one common cause have it in `cause`, and its repair in `fix`.
    """

    rule: Rule
    verdict: Verdict
    found: str = ""
    cause: str | None = None

    @property
    def fix(self) -> str:
        """The repair."""
        return self.rule.fix if self.cause is None else version_one.FIX

    def as_json(self) -> dict[str, Any]:
        """Return the judged rule as a JSON object."""
        rule = self.rule
        members = {"id": rule.id, "verdict": self.verdict.value, "level": rule.level, "sentence": rule.sentence}
        return {**members, "source": rule.source, "found": self.found or None, "cause": self.cause, "fix": self.fix}


# Filled by the decorator `rule`, in the order of the functions below, which is that of the numbers.
RULES: Final[list[Rule]] = []


def judge(answer: ChallengeAnswer) -> tuple[Judged, ...]:
    """Return every rule with its verdict on one answer."""
    # Terms of version 1 break several rules at once. They share one cause, so that the reader repairs one
    # thing.
    version_one_ids = version_one.explained_by_version(answer)
    judged_rules = (_judge_rule(rule, answer) for rule in RULES)
    return tuple(
        replace(one, cause=version_one.CAUSE) if one.verdict is Verdict.FAIL and one.rule.id in version_one_ids else one
        for one in judged_rules
    )


def _judge_rule(rule: Rule, answer: ChallengeAnswer) -> Judged:
    # Without a document only the rules about status and header fields can be judged. The others
    # would all fail for one reason, which rules 2 and 3 already report.
    if answer.document is None and rule.id not in _WITHOUT_DOCUMENT:
        return Judged(rule, Verdict.INCONCLUSIVE, "no document of x402 defines it")
    faults = rule.faults(answer)
    if faults is None:
        return Judged(rule, Verdict.NOT_APPLICABLE, "does not apply here")
    if isinstance(faults, Unverified):
        return Judged(rule, Verdict.INCONCLUSIVE, one_line(f"{NOT_VERIFIED}{faults.why}", 400))
    if not faults:
        return Judged(rule, Verdict.PASS)
    return Judged(rule, Verdict.FAIL if rule.level == "MUST" else Verdict.WARN, one_line("; ".join(faults), 400))


def rule(
    number: int, sentence: str, source: str, fix: str, level: Literal["MUST", "SHOULD"] = "MUST"
) -> Callable[[Callable[[ChallengeAnswer], Faults]], Callable[[ChallengeAnswer], Faults]]:
    """Register a function as a rule."""

    def register(function: Callable[[ChallengeAnswer], Faults]) -> Callable[[ChallengeAnswer], Faults]:
        RULES.append(Rule(f"X402-{number:02}", sentence, level, source, fix, function))
        return function

    return register


@rule(
    1,
    "A call without a payment is answered 402",
    TRANSPORT,
    "Answer 402, even if the request also lacks something else.",
)
def _status(answer: ChallengeAnswer) -> Faults:
    return [] if answer.status == 402 else [f"answered {answer.status}"]


@rule(
    2,
    "A 402 carries its terms in the header PAYMENT-REQUIRED, once",
    TRANSPORT,
    "Send the header: clients read terms of version 2 only there and cannot pay without it.",
)
def _header(answer: ChallengeAnswer) -> Faults:
    count = len(answer.values("PAYMENT-REQUIRED"))
    if count == 1:
        return []
    body = ", the terms are only in the body" if answer.document is not None else ""
    return [f"the header comes {count} times{body}"]


@rule(
    3,
    "The header is base64 of a JSON object: standard alphabet, padded",
    TRANSPORT,
    "Encode the UTF-8 JSON with the standard alphabet (+ and /) and its padding; base64url breaks clients.",
)
def _encoding(answer: ChallengeAnswer) -> Faults:
    if not answer.values("PAYMENT-REQUIRED"):
        return None
    return [] if answer.header_fault is None else [answer.header_fault]


@rule(
    4, "x402Version is the number 2", SPEC, "Send the number 2: a text is another type, and 1 means another protocol."
)
def _version(answer: ChallengeAnswer) -> Faults:
    version = answer.member("x402Version")
    return [] if type(version) is int and version == 2 else [f"x402Version is {_describe(version)}"]


@rule(
    5,
    "resource is an object whose url names what is sold",
    SPEC,
    "Add resource with the address that was called; TypeScript clients refuse terms without it.",
)
def _resource(answer: ChallengeAnswer) -> Faults:
    resource = answer.member("resource")
    if not isinstance(resource, dict):
        return [f"resource is {_describe(resource)}"]
    url = resource.get("url")
    return [] if isinstance(url, str) and url else [f"resource.url is {_describe(url)}"]


@rule(6, "accepts is an array of at least one offer, each an object", SPEC, "List at least one way to pay.")
def _accepts(answer: ChallengeAnswer) -> Faults:
    accepts = answer.member("accepts")
    if not isinstance(accepts, list):
        return [f"accepts is {_describe(accepts)}"]
    if not accepts:
        return ["accepts is empty"]
    return [f"accepts[{place}] is {_describe(one)}" for place, one in enumerate(accepts) if not isinstance(one, dict)]


@rule(7, "Each offer names its scheme", SPEC, 'Send scheme as a text such as "exact".')
def _scheme(answer: ChallengeAnswer) -> Faults:
    return _check_each_offer(answer, "scheme", lambda one, _: isinstance(one, str) and one != "")


@rule(
    8,
    "Each offer names its network by CAIP-2",
    SPEC,
    'Send network as namespace:reference, such as "eip155:8453" for Base; "base" is how version 1 named it.',
)
def _network(answer: ChallengeAnswer) -> Faults:
    return _check_each_offer(answer, "network", lambda one, _: isinstance(one, str) and is_caip2(one))


@rule(
    9,
    "Each offer has its amount as a text of decimal digits, in atomic units",
    SPEC,
    'Send amount as "10000" for 0.01 USDC: not a number, without fraction and exponent.',
)
def _amount(answer: ChallengeAnswer) -> Faults:
    # The old name of the member is the most frequent reason, so it is named instead of one fault for each offer.
    if answer.offers and all("amount" not in one and "maxAmountRequired" in one for one in answer.offers):
        return ["amount is missing, and maxAmountRequired, the name in version 1, is present"]
    return _check_each_offer(answer, "amount", lambda one, _: atomic_amount(one) is not None)


@rule(10, "Each offer names its asset", SPEC, "Send the token's contract, mint or asset id as a text.")
def _asset(answer: ChallengeAnswer) -> Faults:
    return _check_each_offer(answer, "asset", _is_asset)


@rule(
    11,
    "Each offer names a payee, by an address of its network",
    SPEC,
    "Send payTo as an address that can be paid there.",
)
def _payee(answer: ChallengeAnswer) -> Faults:
    return _check_each_offer(answer, "payTo", _is_payee)


@rule(
    12,
    "Each offer has maxTimeoutSeconds, a whole number above 0",
    SPEC,
    "Send a JSON number such as 60; Python clients refuse fractions and texts.",
)
def _timeout(answer: ChallengeAnswer) -> Faults:
    return _check_each_offer(answer, "maxTimeoutSeconds", lambda one, _: _is_whole(one) and one > 0)


@rule(13, "extra, where an offer has it, is an object", SPEC, "Send an object, or leave extra out.")
def _extra(answer: ChallengeAnswer) -> Faults:
    return _check_each_offer(answer, "extra", lambda one, _: one is None or isinstance(one, dict))


@rule(
    14,
    "An offer of exact on an EVM chain tells name and version of the token's EIP-712 domain in extra",
    EXACT,
    "Add extra.name and extra.version with the values of the token's contract: a client cannot sign without them.",
)
def _domain(answer: ChallengeAnswer) -> Faults:
    offers = _signed_for_the_token(answer)
    if not offers:
        return None
    return [
        f"accepts[{place}].extra.{name} is {_describe(_extras(one).get(name))}"
        for place, one in offers
        for name in ("name", "version")
        if not (isinstance(_extras(one).get(name), str) and _extras(one)[name])
    ]


@rule(
    15,
    "The EIP-712 domain that an offer names is that of its token's contract, where the contract is known here",
    "EIP-712, and the token's contract",
    "Take name and version from the contract: USDC calls itself `USD Coin` on Base and `USDC` on Base Sepolia. A "
    "signature for another domain can never be settled.",
)
def _known_domain(answer: ChallengeAnswer) -> Faults:
    offers = _signed_for_the_token(answer)
    if not offers:
        return None
    known_offers = [(place, one) for place, one in offers if _is_usdc(one) and str(one["network"]) in _DOMAINS]
    wrong = [
        f"accepts[{place}] has {_describe(_extras(one).get('name'))} {_describe(_extras(one).get('version'))}, "
        f"the contract has {name!r} {version!r}"
        for place, one, (name, version) in ((place, one, _DOMAINS[str(one["network"])]) for place, one in known_offers)
        if (_extras(one).get("name"), _extras(one).get("version")) != (name, version)
    ]
    unknown = [
        f"accepts[{place}] on {one['network']!r:.80}" for place, one in offers if (place, one) not in known_offers
    ]
    # A domain that is known to be wrong fails the rule, even if another offer's contract is unknown here.
    if unknown and not wrong:
        return Unverified(
            f"{', '.join(unknown)}: the suite knows the domain of USDC on {' and '.join(_DOMAINS)} only; compare "
            f"extra.name and extra.version with the values in the contract"
        )
    return wrong


@rule(
    16,
    "An offer of exact on Solana names who pays the fees in extra.feePayer",
    EXACT,
    "Add the account that pays the fees: Solana clients cannot build the transaction without it.",
)
def _fee_payer(answer: ChallengeAnswer) -> Faults:
    offers = _exact(answer, _SOLANA)
    if not offers:
        return None
    payers = [(place, _extras(one).get("feePayer")) for place, one in offers]
    wrong = [(place, one) for place, one in payers if not (isinstance(one, str) and is_address(_SOLANA, one))]
    return [f"accepts[{place}].extra.feePayer is {_describe(one)}" for place, one in wrong]


@rule(17, "error and extensions, where they are there, are a text and an object", SPEC, "Send the types of the table.")
def _optional(answer: ChallengeAnswer) -> Faults:
    error, extensions = answer.member("error"), answer.member("extensions")
    wrong = [] if error is None or isinstance(error, str) else [f"error is {_describe(error)}"]
    right = extensions is None or isinstance(extensions, dict)
    return wrong if right else [*wrong, f"extensions is {_describe(extensions)}"]


@rule(
    18,
    "A body that repeats the header's terms in the same version contradicts it in no price, payee, asset or network",
    TRANSPORT + ", which leaves the body to the server",
    "Put the same terms into the body as into the header, or no terms. The body may contain more than the header.",
    "SHOULD",
)
def _one_story(answer: ChallengeAnswer) -> Faults:
    header, body = answer.in_header, answer.in_body
    # A server may serve clients of both versions: terms of version 2 in the header, terms of version 1 in the body. Two
    # versions name the same things differently, so only equal versions are compared.
    if header is None or body is None or header.get("x402Version") != body.get("x402Version"):
        return None
    return contradictions(header, body)


@rule(
    19,
    "Shared caches must not store a 402",
    "RFC 9111, and the stock servers",
    "Send Cache-Control: no-store with every 402.",
    "SHOULD",
)
def _cache(answer: ChallengeAnswer) -> Faults:
    value = ", ".join(answer.values("Cache-Control"))
    directives = {part.partition("=")[0].strip().lower() for part in value.split(",")}
    return [] if directives & _NO_KEEPING else [f"Cache-Control is {value!r}" if value else "there is no Cache-Control"]


@rule(
    20,
    "The header stays below 8000 bytes",
    "stock clients read no longer line",
    "Shorten descriptions and examples in extensions: longer fields break clients of Python and Node.js.",
    "SHOULD",
)
def _length(answer: ChallengeAnswer) -> Faults:
    values = answer.values("PAYMENT-REQUIRED")
    if not values:
        return None
    longest = max(map(len, values))
    return [] if longest < _LONGEST_HEADER else [f"it has {longest} bytes"]


@rule(
    21,
    "Where browsers of other origins may read the answer, they may read the header",
    "Fetch (CORS)",
    "Add Access-Control-Expose-Headers: PAYMENT-REQUIRED, PAYMENT-RESPONSE.",
    "SHOULD",
)
def _header_is_exposed(answer: ChallengeAnswer) -> Faults:
    if not answer.values("Access-Control-Allow-Origin"):
        return None
    names = {
        one.strip().lower() for value in answer.values("Access-Control-Expose-Headers") for one in value.split(",")
    }
    return [] if names & {"payment-required", "*"} else ["Access-Control-Expose-Headers does not name it"]


@rule(
    22,
    "A payment that cannot be read buys nothing and breaks nothing: 400 or another refusal",
    TRANSPORT,
    "Refuse an unreadable PAYMENT-SIGNATURE with 400 or 402.",
)
def _unreadable(answer: ChallengeAnswer) -> Faults:
    if answer.to_unreadable is None:
        return None
    return [] if 400 <= answer.to_unreadable < 500 else [f"answered {answer.to_unreadable}"]


@rule(
    23,
    "A payment that no account signed buys nothing",
    EXACT,
    "Verify the signature before you serve, by the facilitator or in your server.",
)
def _forged_payment_is_refused(answer: ChallengeAnswer) -> Faults:
    if not answer.to_forged:
        return None
    served = [f"{network}: served with {status}" for network, status in answer.to_forged.items() if status < 300]
    tried = {network.partition(":")[0] for network in answer.to_forged}
    untried = [
        f"accepts[{place}] on {one.get('network')!r:.80}"
        for place, one in _numbered_offers(answer)
        if _namespace(one) not in tried
    ]
    if untried and not served:
        return Unverified(f"the suite built no such payment for {', '.join(untried)}")
    return served


@rule(
    24,
    "If an offer's asset is the USDC of some network, it is the USDC of the offer's own network",
    EXACT,
    "Name the contract, mint or id of the token on the offer's network. A client signs for that network, where the "
    "other network's token does not exist.",
)
def _own_token(answer: ChallengeAnswer) -> Faults:
    offers_and_networks = [(place, one, network_named(one.get("network"))) for place, one in _numbered_offers(answer)]
    known_offers = [(place, one, network) for place, one, network in offers_and_networks if network is not None]
    if not known_offers:
        return None
    return [
        f"accepts[{place}] is on {network.name}, and its asset is the USDC of {', '.join(others)}"
        for place, one, network in known_offers
        if not _is_usdc(one) and (others := _usdc_elsewhere(one))
    ]


@rule(
    25,
    "No offer pays the token's own contract or mint",
    "scheme exact of x402 version 2, and the token's contract: USDC refuses a transfer to itself",
    "Send your account as payTo. A payment to the contract is lost or is never settled.",
)
def _payee_is_no_token(answer: ChallengeAnswer) -> Faults:
    if not answer.offers:
        return None
    paid = [(place, one.get("payTo"), one.get("asset")) for place, one in _numbered_offers(answer)]
    return [
        f"accepts[{place}].payTo is its asset, {payee!r:.80}"
        for place, payee, asset in paid
        if isinstance(payee, str) and isinstance(asset, str) and payee and payee.lower() == asset.lower()
    ]


@rule(
    26,
    "The price of each offer is above 0",
    SPEC + ", which fixes no least amount",
    "Send the price in atomic units, or serve the call without a 402: a payment of 0 pays for nothing.",
    "SHOULD",
)
def _price(answer: ChallengeAnswer) -> Faults:
    return _check_each_offer(answer, "amount", lambda one, _: atomic_amount(one) != 0)


@rule(
    27,
    "resource.url names what was called: its host and its path",
    SPEC + ", which says no more than that it is the URL of the protected resource",
    "Send the address that the client called; behind a proxy, the public one.",
    "SHOULD",
)
def _resource_url(answer: ChallengeAnswer) -> Faults:
    resource = answer.member("resource")
    url = resource.get("url") if isinstance(resource, dict) else None
    if not isinstance(url, str) or not url:
        return None
    try:
        named_url, called_url = urlsplit(urljoin(answer.url, url)), urlsplit(answer.url)
        is_same = (_host(named_url), named_url.path or "/") == (_host(called_url), called_url.path or "/")
    except ValueError:  # a malformed port or bracket
        is_same = False
    # The slice removes "the text " in front of the called address.
    return [] if is_same else [f"resource.url is {_describe(url)}, and {_describe(answer.url)[9:]} was called"]


@rule(
    28,
    "No other spelling of the path is served without a payment",
    TRANSPORT + ", and RFC 3986 on paths that name one resource",
    "Require the payment after routing, for the route that was matched, and not by the text of the path before it.",
)
def _other_spellings(answer: ChallengeAnswer) -> Faults:
    return None if answer.spellings is None else list(answer.spellings.free)


@rule(
    29,
    "HEAD, and a spelling of the path that may name another resource, is not served without a payment either",
    "RFC 9110, 9.3.2: HEAD is answered as GET, without the body",
    "Require the payment for every method, and also for the path with a slash at its end or in other letter case.",
    "SHOULD",
)
def _nearly_spelled(answer: ChallengeAnswer) -> Faults:
    return None if answer.spellings is None else list(answer.spellings.doubtful)


# Rules about the status and the header fields. They can be judged even if the answer has no terms.
_WITHOUT_DOCUMENT: Final = frozenset({"X402-01", "X402-02", "X402-03", "X402-19", "X402-20", "X402-21", "X402-22"})


def _check_each_offer(answer: ChallengeAnswer, name: str, holds: Callable[[Any, Mapping[str, Any]], bool]) -> Faults:
    if not answer.offers:
        return None
    wrong = [(place, one) for place, one in _numbered_offers(answer) if not holds(one.get(name), one)]
    return [f"accepts[{place}].{name} is {_describe(one.get(name))}" for place, one in wrong]


def _numbered_offers(answer: ChallengeAnswer) -> Iterator[tuple[int, Mapping[str, Any]]]:
    accepts = answer.member("accepts")
    for place, one in enumerate(accepts if isinstance(accepts, list) else []):
        if isinstance(one, dict):
            yield place, one


def _exact(answer: ChallengeAnswer, namespace: str) -> Sequence[tuple[int, Mapping[str, Any]]]:
    offers = ((place, one) for place, one in _numbered_offers(answer) if one.get("scheme") == "exact")
    return [(place, one) for place, one in offers if _namespace(one) == namespace]


def _signed_for_the_token(answer: ChallengeAnswer) -> Sequence[tuple[int, Mapping[str, Any]]]:
    """Return the EVM offers whose payment is signed for the token's domain: EIP-3009 transfers, the default."""
    methods = {None, "eip3009"}
    return [(place, one) for place, one in _exact(answer, _EVM) if _transfer_method(one) in methods]


def _transfer_method(offer: Mapping[str, Any]) -> str | None:
    method = _extras(offer).get("assetTransferMethod")
    # Another type is not a known method. Its repr equals no name of a method, so the offer is not taken for the
    # default.
    return method if method is None or isinstance(method, str) else repr(method)


def _namespace(offer: Mapping[str, Any]) -> str:
    """Return the CAIP-2 namespace of an offer's network; empty if it is not a CAIP-2 name."""
    namespace, colon, _ = str(offer.get("network")).partition(":")
    return namespace if colon else ""


def _extras(offer: Mapping[str, Any]) -> Mapping[str, Any]:
    extra = offer.get("extra")
    return extra if isinstance(extra, dict) else {}


def _is_asset(value: Any, offer: Mapping[str, Any]) -> bool:
    if not isinstance(value, str) or not value:
        return False
    # Other networks may name a currency code instead of a token.
    return _namespace(offer) != _EVM or is_address(_EVM, value)


def _is_payee(value: Any, offer: Mapping[str, Any]) -> bool:
    if not isinstance(value, str) or not value:
        return False
    if _namespace(offer) == _EVM:
        return is_address(_EVM, value)
    lane = lane_of(offer)
    return lane is None or is_address(FACTS[lane].namespace, value)


def _is_usdc(offer: Mapping[str, Any]) -> bool:
    network = network_named(offer.get("network"))
    return network is not None and isinstance(offer.get("asset"), str) and network.is_asset(offer["asset"])


def _usdc_elsewhere(offer: Mapping[str, Any]) -> list[str]:
    """Return the names of the networks whose USDC an offer's asset is.

    Each network of Algorand counts its asset ids separately, so there the offer itself must name USDC.
    """
    asset = offer.get("asset")
    if not isinstance(asset, str) or (asset.isdecimal() and _extras(offer).get("name") not in _USDC_NAMES):
        return []
    return [one.name for one in NETWORKS if one.is_asset(asset)]


def _host(parts: SplitResult) -> tuple[str | None, int | None]:
    """Return host and port; all names of this machine are one host, and the default port is filled in."""
    host = "localhost" if parts.hostname in _LOOPBACK else parts.hostname
    return host, parts.port if parts.port is not None else _PORTS.get(parts.scheme)


def _is_whole(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    # JSON has one type of number: most parsers read 60.0 as 60. `int` raises for the infinity that 1e999 becomes.
    return number and math.isfinite(value) and value == int(value)


def _describe(value: Any) -> str:
    kinds = {bool: "true or false", int: "the number", float: "the number", str: "the text", list: "an array"}
    if value is None:
        return "missing"
    if isinstance(value, dict):
        return "an object"
    kind = kinds[type(value)]
    return kind if isinstance(value, bool | list) else f"{kind} {value!r:.80}"
