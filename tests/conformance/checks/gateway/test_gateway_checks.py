"""What the checks of the gateway make of an honest gateway and of gateways with one flaw each."""

from __future__ import annotations

import base64
import datetime as dt
import json
import random
import re
import uuid
from pathlib import Path

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from conformance.assertions.gateway.limits import read_retry_after
from conformance.assertions.gateway.originals import read_identity
from conformance.checks.gateway.amounts import EXACT, is_product
from conformance.checks.gateway.checkout_token_randomness import counts_up, observed_bits
from conformance.checks.gateway.link_creation import address_parts
from conformance.engine.check import REGISTRY
from conformance.engine.check_loading import load_checks
from conformance.http.client import Answer
from conformance.log.events import EventLog
from conformance.outcome import Verdict
from conformance.text.times import utc_time
from tests.conformance.checks.gateway.scripted_gateway import Gateway, profile_text, run_check
from tests.conformance.checks.trial import find_broken_rows, run_one_check

# Each flaw with the check that must see it and the rows that it must break, no others.
FLAWS = [
    ("any media type at /v1/payment-links", "links_want_json", {"GW-HTTP-01"}),
    ("any media type at /v1/resources", "resources_want_json", {"GW-HTTP-02"}),
    ("any media type at /v1/receipt/verify", "receipt_verification_wants_json", {"GW-HTTP-03"}),
    ("any media type at /compliance/screen", "screening_wants_json", {"GW-HTTP-04"}),
    ("charsets are refused", "json_may_name_its_charset", {"GW-HTTP-05"}),
    ("no envelope on 415", "a_wrong_media_type_gets_the_envelope", {"GW-HTTP-06"}),
    ("forms are refused bare", "a_wrong_media_type_gets_the_envelope", {"GW-HTTP-06"}),
    ("one request id", "successes_have_a_request_id", {"GW-HTTP-10"}),
    ("one request id", "errors_have_a_request_id", {"GW-HTTP-10"}),
    *(
        (f"no request id on {status}", "errors_have_a_request_id", {"GW-HTTP-08"})
        for status in (400, 401, 404, 405, 413, 415, 431)
    ),
    *(
        (f"no envelope on {status}", "errors_use_the_envelope", {"GW-ERR-01", "GW-ERR-02"})
        for status in (400, 401, 403, 404, 405, 413, 415, 422, 431)
    ),
    *((f"no message on {status}", "errors_use_the_envelope", {"GW-ERR-02"}) for status in (401, 403, 404, 405, 422)),
    ("refusals without a type", "errors_use_the_envelope", {"X-JSON-01"}),
    ("codes are sentences", "errors_use_the_envelope", {"GW-ERR-05"}),
    ("codes are numbered", "a_fault_keeps_its_code", {"GW-ERR-04"}),
    ("no credential", "a_call_without_authorization_is_rejected", {"GW-AUTH-01"}),
    ("a rejected call is kept", "a_call_without_authorization_is_rejected", {"GW-AUTH-01"}),
    ("a rejected name is kept", "a_call_without_authorization_is_rejected", {"GW-AUTH-01"}),
    ("a rejected name is kept", "a_call_without_a_tenant_id_is_rejected", {"GW-AUTH-02"}),
    ("no tenant id", "a_call_without_a_tenant_id_is_rejected", {"GW-AUTH-02"}),
    ("an empty tenant id", "a_call_without_a_tenant_id_is_rejected", {"GW-AUTH-02"}),
    ("keys by their beginning", "a_wrong_key_is_rejected", {"GW-AUTH-03"}),
    ("a rejected call is kept", "a_wrong_key_is_rejected", {"GW-AUTH-03"}),
    ("any scheme", "another_scheme_is_rejected", {"GW-AUTH-04"}),
    ("any tenant id", "a_key_opens_its_own_tenant_only", {"GW-AUTH-05"}),
    ("a rejected call is kept", "a_key_opens_its_own_tenant_only", {"GW-AUTH-05"}),
    ("no envelope on 401", "a_call_without_authorization_is_rejected", {"GW-AUTH-08"}),
    ("a missing id is refused bare", "a_call_without_a_tenant_id_is_rejected", {"GW-AUTH-08"}),
    ("other schemes are refused bare", "another_scheme_is_rejected", {"GW-AUTH-08"}),
    ("an unknown id is refused bare", "a_key_opens_its_own_tenant_only", {"GW-AUTH-08"}),
    ("no resources", "resources_exist", {"GW-RES-01"}),
    ("resources for one tenant", "resources_exist", {"GW-RES-01"}),
    ("no resources", "a_resource_is_created", {"GW-RES-02"}),
    ("no resources", "a_key_with_its_tenant_is_accepted", {"GW-AUTH-07"}),
    ("whole numbers are refused", "a_link_has_its_members", {"GW-LINK-01"}),
    ("amounts are texts", "a_link_has_its_members", {"GW-LINK-05"}),
    ("large amounts are texts", "amounts_are_exact", {"GW-LINK-05", "GW-LINK-13"}),
    ("the address is another's", "the_checkout_address_ends_with_the_token", {"GW-LINK-07"}),
    ("an address of Base elsewhere", "the_checkout_address_ends_with_the_token", {"GW-LINK-07"}),
    ("the address has a query", "the_checkout_address_ends_with_the_token", {"GW-LINK-08", "GW-LINK-09"}),
    ("underscores stay", "a_link_names_the_network_that_was_asked_for", {"GW-LINK-10", "GW-LINK-11"}),
    ("one network", "a_link_names_the_network_that_was_asked_for", {"GW-LINK-11", "GW-LINK-18"}),
    ("Solana with a hyphen", "a_link_names_the_network_that_was_asked_for", {"GW-LINK-12"}),
    ("no zone", "a_link_tells_when_it_expires", {"GW-LINK-14"}),
    ("tokens are counted", "tokens_cannot_be_guessed", {"GW-LINK-17"}),
    ("tokens are short", "tokens_cannot_be_guessed", {"GW-LINK-17"}),
    ("floats", "amounts_are_exact", {"GW-LINK-13"}),
    ("half to even", "amounts_are_exact", {"GW-LINK-13"}),
    ("cut off", "amounts_are_exact", {"GW-LINK-13"}),
    ("texts of digits", "an_amount_is_a_number", {"GW-LINK-19"}),
    ("any amount", "an_amount_is_positive", {"GW-LINK-20"}),
    ("any label", "texts_are_texts", {"GW-LINK-21"}),
    ("any currency", "texts_are_texts", {"GW-LINK-21"}),
    ("networks are replaced", "an_unknown_network_is_refused", {"GW-LINK-22"}),
    ("a key is demanded", "the_key_is_optional", {"GW-IDEM-01", "GW-IDEM-02"}),
    ("a key is demanded of large links", "the_key_is_optional", {"GW-IDEM-01"}),
    ("keys do nothing", "a_repeat_returns_the_original_link", {"GW-IDEM-03"}),
    ("keys do nothing", "a_repeat_returns_the_original_resource", {"GW-IDEM-04"}),
    ("bodies by their bytes", "a_repeat_in_another_spelling_returns_the_original", {"GW-IDEM-03", "GW-IDEM-04"}),
    ("keys in any case", "other_keys_are_other_things", {"GW-IDEM-05"}),
    ("a changed body creates", "a_changed_body_creates_nothing", {"GW-IDEM-06"}),
    ("keys race", "concurrent_calls_create_one", {"GW-IDEM-07"}),
    ("keys of all tenants", "a_key_belongs_to_its_tenant", {"GW-IDEM-08"}),
    ("one request id", "a_repeat_returns_the_original_link", {"GW-IDEM-11"}),
    ("a window of 23 hours", "a_key_is_bound_for_a_day", {"GW-IDEM-09"}),
    ("no window", "a_key_is_bound_for_a_day", {"GW-IDEM-10"}),
    ("the window slides", "a_key_is_bound_for_a_day", {"GW-IDEM-10"}),
    ("no rate", "a_sustained_rate_is_throttled", {"GW-RATE-01"}),
    ("a refill of 6.5", "a_sustained_rate_is_throttled", {"GW-RATE-01"}),
    ("a rate of 600", "a_sustained_rate_is_throttled", {"GW-RATE-01"}),
    ("a rate per endpoint", "a_sustained_rate_is_throttled", {"GW-RATE-01"}),
    ("a rate per client", "a_sustained_rate_is_throttled", {"GW-RATE-01"}),
    ("faulty calls are free", "a_sustained_rate_is_throttled", {"GW-RATE-01"}),
    ("half a rate for all", "a_sustained_rate_is_throttled", {"GW-RATE-06"}),
    ("a burst of 30", "a_burst_passes", {"GW-RATE-02"}),
    ("no Retry-After", "a_throttled_call_is_told_when_to_come_back", {"GW-RATE-03"}),
    ("Retry-After is a word", "a_throttled_call_is_told_when_to_come_back", {"GW-RATE-03"}),
    ("no envelope on 429", "a_throttled_call_is_told_when_to_come_back", {"GW-RATE-04"}),
    ("no request id on 429", "a_throttled_call_is_told_when_to_come_back", {"GW-HTTP-08"}),
    ("Retry-After is too short", "a_call_succeeds_after_the_wait", {"GW-RATE-05"}),
    ("one rate for all", "a_tenant_is_throttled_alone", {"GW-RATE-06"}),
    ("calls with a key are free", "a_throttled_creation_creates_nothing", {"GW-RATE-01"}),
    ("a throttled call is kept", "a_throttled_creation_creates_nothing", {"GW-RATE-07"}),
    ("no receipt rate", "verification_is_throttled", {"GW-RCPT-31"}),
    ("no Retry-After", "verification_is_throttled", {"GW-RATE-03"}),
    ("no envelope on 429", "verification_is_throttled", {"GW-RATE-04"}),
    ("no request id on 429", "verification_is_throttled", {"GW-HTTP-08"}),
    ("a receipt rate of 90", "spaced_verifications_pass", {"GW-RCPT-32"}),
    ("the edge creates", "the_edge_host_creates_nothing", {"GW-DOC-02"}),
]
CHECKS = sorted({check for _, check, _ in FLAWS} | {"errors_may_tell_more", "two_creations_are_two_links"})


@pytest.mark.parametrize("name", CHECKS)
async def test_an_honest_gateway_passes(name: str, tmp_path: Path) -> None:
    """Every check judges each of its rows, and finds no fault with a gateway that has none."""
    load_checks()
    verdicts = await run_check(name, tmp_path)
    # Codes are judged only at a target that claims the specification.
    expected = {row: Verdict.NOT_APPLICABLE if row == "GW-ERR-06" else Verdict.PASS for row in REGISTRY[name].rows}
    assert expected == verdicts


@pytest.mark.parametrize(("flaw", "name", "rows"), FLAWS)
async def test_a_flaw_breaks_its_row_and_no_other(flaw: str, name: str, rows: set[str], tmp_path: Path) -> None:
    """A gateway that drops one rule is caught by the row of that rule."""
    assert rows == find_broken_rows(await run_check(name, tmp_path, flaw))


@pytest.mark.parametrize(
    ("flaw", "name", "rows"),
    [
        ("none", "the_edge_host_creates_nothing", set()),
        ("the edge verifies", "the_edge_host_creates_nothing", {"GW-DOC-02"}),
        ("the edge serves documents", "the_edge_host_creates_nothing", {"GW-DOC-02"}),
        ("the edge hides checkouts", "the_edge_host_creates_nothing", {"GW-DOC-02"}),
        ("none", "concurrent_calls_create_one", set()),
        ("a busy key is refused", "concurrent_calls_create_one", {"GW-IDEM-07"}),
    ],
)
async def test_the_claim_of_the_specification_decides(flaw: str, name: str, rows: set[str], tmp_path: Path) -> None:
    """What only the specification says is judged at a target that claims it, and at no other."""
    text = profile_text(tmp_path)
    claimed = text.replace('lanes = ["algorand"]', 'lanes = ["algorand"]\nspecification = "1"')
    assert set() == find_broken_rows(await run_check(name, tmp_path, flaw, profile=text))
    assert rows == find_broken_rows(await run_check(name, tmp_path, flaw, profile=claimed))


_OPTIONS = 'options = ["gateway.records", "gateway.checkout"]\n'
LOOKS = ("403 for every credential", "a changed body gets the original", "waits are dates", "faults go before limits")


@pytest.mark.parametrize("name", CHECKS)
async def test_what_the_interface_leaves_open_breaks_nothing(name: str, tmp_path: Path) -> None:
    """Other refusals of credentials, originals for changed bodies, waits as dates, 422 before 429 are as good."""
    assert set() == find_broken_rows(await run_check(name, tmp_path, *LOOKS))


@pytest.mark.parametrize("name", CHECKS)
async def test_without_credentials_nothing_is_judged_in_vain(name: str, tmp_path: Path) -> None:
    """Where the profile has no tenant, rows that need one are undecided; no check fails or breaks down."""
    text = profile_text(tmp_path)
    bare = text[: text.index("[limited.gateway]")]
    verdicts = await run_check(name, tmp_path, profile=bare)
    assert set() == find_broken_rows(verdicts)


@pytest.mark.parametrize(
    ("fields", "seconds"),
    [
        ({"Retry-After": "17"}, 17.0),
        ({"Retry-After": "Sat, 21 Nov 2026 00:00:30 GMT"}, 30.0),
        ({"Retry-After": "Fri, 20 Nov 2026 00:00:12 GMT", "Date": "Fri, 20 Nov 2026 00:00:00 GMT"}, 12.0),
        ({"Retry-After": "Fri, 20 Nov 2026 00:00:12 GMT"}, 0.0),
        ({"Retry-After": "-1"}, None),
        ({"Retry-After": "1.5"}, None),
        ({"Retry-After": "soon"}, None),
        ({}, None),
    ],
)
def test_a_wait_is_seconds_or_a_date(fields: dict[str, str], seconds: float | None) -> None:
    """Retry-After holds whole seconds, or a date by the service's clock or by the answer's own Date."""
    answer = Answer(1, 429, CIMultiDictProxy(CIMultiDict(fields)), b"")
    midnight = dt.datetime(2026, 11, 21, tzinfo=dt.UTC).timestamp()
    assert seconds == read_retry_after(answer, midnight)


def test_variety_is_told_from_a_sample() -> None:
    """Random tokens show their bits whatever their alphabet; counters, times and short tokens do not."""
    rng = random.Random(1)
    strong = {
        "16 bytes in base64url": [base64.urlsafe_b64encode(rng.randbytes(16)).decode()[:22] for _ in range(100)],
        "8 bytes in base64url": [base64.urlsafe_b64encode(rng.randbytes(8)).decode()[:11] for _ in range(100)],
        "a UUID": [str(uuid.UUID(bytes=rng.randbytes(16), version=4)) for _ in range(100)],
        "a time and 10 bytes": [f"{1795000000 + number}{rng.randbytes(10).hex()}" for number in range(100)],
    }
    weak = {
        "a counter": [f"{number:022d}" for number in range(100)],
        "a counter behind a word": [f"link-{number:08x}" for number in range(100)],
        "a time": [f"{1795000000 + 3 * number:032x}" for number in range(100)],
        "5 bytes": [rng.randbytes(5).hex() for _ in range(100)],
    }
    assert {name: observed_bits(tokens) >= 60 and not counts_up(tokens[:20]) for name, tokens in strong.items()} == (
        dict.fromkeys(strong, True)
    )
    assert {name: observed_bits(tokens) >= 60 and not counts_up(tokens[:20]) for name, tokens in weak.items()} == (
        dict.fromkeys(weak, False)
    )


def test_the_amounts_are_such_that_floats_get_wrong() -> None:
    """Cutting off the product in floats goes wrong for a good part of the plain amounts."""
    wrong = [literal for literal in EXACT if not is_product(literal, int(float(literal) * 1_000_000))]
    assert {"8.41", "1.005"} & set(wrong)
    assert len(wrong) >= 8
    assert is_product("0.30000000000000004", 300_000)
    assert not is_product("8.41", 8_409_999)
    assert not is_product("8.41", 8_410_000.0)


@pytest.mark.parametrize(
    ("text", "is_utc"),
    [
        ("2026-11-21T10:00:00Z", True),
        ("2026-11-21T10:00:00.123456+00:00", True),
        ("20261121T100000Z", True),
        ("2026-11-21T10:00:00+01:00", False),
        ("2026-11-21T10:00:00", False),
        ("2026-11-21", False),
        ("2026-02-30T10:00:00Z", False),
        (1795000000, False),
        (None, False),
    ],
)
def test_a_time_in_utc_says_so(text: object, is_utc: bool) -> None:
    """An expiry is a date and a time of day in UTC; another zone, or no zone, is malformed."""
    assert is_utc is (utc_time(text) is not None)


@pytest.mark.parametrize(
    ("base", "url", "under", "path"),
    [
        ("http://h:80", "http://h/checkout/a", True, "/checkout/a"),
        ("https://h/api", "https://h/api/checkout/a", True, "/checkout/a"),
        ("https://h/api", "https://h/apicheckout/a", False, "/apicheckout/a"),
        ("http://h", "https://h/checkout/a", False, "/checkout/a"),
        ("http://h", "http://h.evil/checkout/a", False, "/checkout/a"),
        ("http://h", "http://u@h/checkout/a", False, "/checkout/a"),
        ("http://h", "http://h/checkout/a?b#c", True, "/checkout/a?b#c"),
        ("http://h", "http://[", False, None),
    ],
)
def test_an_address_lies_under_another(base: str, url: str, under: bool, path: str | None) -> None:
    """Scheme, host, port and the beginning of the path are the same; what follows is reported with its query."""
    assert (under, path) == address_parts(base, url)


def test_a_thing_is_known_by_what_its_request_did_not_bring() -> None:
    """The identity of a resource is its own identifiers, not what the request said and not the request id."""
    document = {"id": "r-1", "resource_id": "mine", "created_at": "t", "request_id": "q-1", "meta": {"uuid": "u-1"}}
    answer = Answer(1, 201, CIMultiDictProxy(CIMultiDict({"X-Request-Id": "q-1"})), json.dumps(document).encode())
    assert read_identity("/v1/resources", answer, {"resource_id": "mine"}) == {"id": "r-1", "meta.uuid": "u-1"}
    bare = Answer(1, 201, CIMultiDictProxy(CIMultiDict[str]()), b'{"made":"x","name":"mine"}')
    assert read_identity("/v1/resources", bare, {"name": "mine"}) == {"made": "x"}


@pytest.mark.parametrize(
    ("flaw", "name"),
    [("no request id on 413", "errors_have_a_request_id"), ("no envelope on 431", "errors_use_the_envelope")],
)
async def test_what_a_server_in_front_may_say_only_warns(flaw: str, name: str, tmp_path: Path) -> None:
    """No target fails for the bare 413 of a proxy."""
    verdicts = await run_check(name, tmp_path, flaw)
    assert Verdict.WARN in verdicts.values()
    assert Verdict.FAIL not in verdicts.values()


@pytest.mark.parametrize(
    ("flaw", "verdict"), [("bodies by their bytes", Verdict.WARN), ("a body in other bytes creates", Verdict.FAIL)]
)
async def test_other_bytes_of_a_body_are_another_body_for_some(flaw: str, verdict: Verdict, tmp_path: Path) -> None:
    """Without a claim, a repeat in another spelling may be refused, but must never make a second link."""
    text = profile_text(tmp_path).replace('defaults = "reference"\n', "")
    verdict_by_row = await run_check("a_repeat_in_another_spelling_returns_the_original", tmp_path, flaw, profile=text)
    assert verdict_by_row["GW-IDEM-03"] is verdict


@pytest.mark.parametrize("flaw", ["half to even", "cut off"])
async def test_without_a_claim_either_neighbour_of_an_amount_passes(flaw: str, tmp_path: Path) -> None:
    """How an amount between two micro-units is rounded binds a target that claims the records alone."""
    text = profile_text(tmp_path).replace('defaults = "reference"\n', "")
    verdict_by_row = await run_check("amounts_are_exact", tmp_path, flaw, profile=text)
    assert set(verdict_by_row.values()) == {Verdict.PASS}


async def test_one_lane_of_two_that_a_gateway_must_have_is_told(tmp_path: Path) -> None:
    """Who claims one lane reads with the verdict that links on two were not tried."""
    log, text = EventLog(), re.sub(r'^(base|solana)_.* = "address"$', "", profile_text(tmp_path), flags=re.MULTILINE)
    verdicts = await run_one_check("a_link_names_the_network_that_was_asked_for", Gateway(), text, log=log)
    assert verdicts["GW-LINK-18"] is Verdict.NOT_APPLICABLE
    assert [one["rows"] for one in log.of("check.shortened")] == [["GW-LINK-18"]]


@pytest.mark.parametrize("name", ["a_burst_passes", "a_key_is_bound_for_a_day"])
async def test_the_target_itself_serves_limits_by_its_clock(name: str, tmp_path: Path) -> None:
    """Without a service of its own a limit check moves the target's clock."""
    clock = f'[clock]\noffset_file = "{tmp_path / "clock"}"\n'
    verdicts = await run_check(name, tmp_path, profile=_without_limited(tmp_path) + clock)
    assert set(verdicts.values()) == {Verdict.PASS}


@pytest.mark.parametrize(("lanes", "verdict"), [('["base"]', Verdict.NOT_APPLICABLE), ("[]", Verdict.INCONCLUSIVE)])
async def test_links_of_one_chain_show_no_second(lanes: str, verdict: Verdict, tmp_path: Path) -> None:
    """Where one lane is claimed the row does not apply; where the profile just names one chain it is undecided."""
    text = profile_text(tmp_path).replace('lanes = ["algorand"]', f"lanes = {lanes}")
    for network in ("algorand_testnet", "solana_devnet"):
        text = text.replace(f'{network} = "address"\n', "")
    verdict_by_row = await run_check("a_link_names_the_network_that_was_asked_for", tmp_path, profile=text)
    assert verdict_by_row["GW-LINK-18"] is verdict


@pytest.mark.parametrize(
    ("name", "row", "slow_from"),
    [("a_sustained_rate_is_throttled", "GW-RATE-01", number) for number in (1, 400, 800)]
    + [("verification_is_throttled", "GW-RCPT-31", number) for number in (1, 300)],
)
async def test_a_limit_that_slow_calls_keep_is_undecided(name: str, row: str, slow_from: int, tmp_path: Path) -> None:
    """Calls that take so long that they keep to the rate meet no 429, in whichever part of the check that is."""
    verdicts = await run_check(name, tmp_path, slow=(slow_from, 1.0))
    assert verdicts.pop(row) is Verdict.INCONCLUSIVE
    assert Verdict.FAIL not in verdicts.values()


@pytest.mark.parametrize(
    ("name", "row", "flaw"),
    [
        ("a_sustained_rate_is_throttled", "GW-RATE-01", "no rate"),
        ("a_sustained_rate_is_throttled", "GW-RATE-01", "a refill of 6.5"),
        ("verification_is_throttled", "GW-RCPT-31", "no receipt rate"),
    ],
)
async def test_a_limit_is_decided_where_calls_take_a_part_of_the_minute(
    name: str, row: str, flaw: str, tmp_path: Path
) -> None:
    """On a busy machine the time that calls take is a part of that between them, and not added to it."""
    assert (await run_check(name, tmp_path, slow=(1, 0.05)))[row] is Verdict.PASS
    assert (await run_check(name, tmp_path, flaw, slow=(1, 0.05)))[row] is Verdict.FAIL


async def test_a_rate_is_decided_where_no_call_may_be_forwarded(tmp_path: Path) -> None:
    """A target that refuses calls with forwarding headers receives none; the rate is measured without them."""
    flaw = "forwarded calls are refused"
    assert (await run_check("a_sustained_rate_is_throttled", tmp_path, flaw))["GW-RATE-01"] is Verdict.PASS
    assert (await run_check("a_sustained_rate_is_throttled", tmp_path, flaw, "no rate"))["GW-RATE-01"] is Verdict.FAIL


async def test_a_credential_that_is_not_looked_at_leaves_the_envelope_decided(tmp_path: Path) -> None:
    """Where a call without a tenant id is carried out, refusals of keys show whether they bear the envelope."""
    verdicts = await run_check("a_call_without_a_tenant_id_is_rejected", tmp_path, "no tenant id")
    assert verdicts == {"GW-AUTH-02": Verdict.FAIL, "GW-AUTH-08": Verdict.NOT_APPLICABLE}
    verdicts = await run_check("a_key_opens_its_own_tenant_only", tmp_path, "tenant ids are not read")
    assert verdicts == {"GW-AUTH-05": Verdict.FAIL, "GW-AUTH-08": Verdict.NOT_APPLICABLE}


async def test_what_is_not_built_yet_is_named(tmp_path: Path) -> None:
    """The advice is to serve it, and no reason asks for a key of the profile."""
    media_log, page_log, id_log = EventLog(), EventLog(), EventLog()
    text = profile_text(tmp_path)
    unserved = Gateway("nothing at /v1/receipt/verify")
    await run_one_check("receipt_verification_wants_json", unserved, text, log=media_log)
    hints = {event["hint"] for event in media_log.of("judgement")}
    assert hints == {"Serve POST /v1/receipt/verify: it was answered 404."}
    await run_one_check("successes_have_a_request_id", Gateway("nothing at /checkout/"), text, log=page_log)
    reasons = [event["expected"] for event in page_log.of("judgement") if event["row"] == "GW-HTTP-09"]
    assert reasons == ["the checkout page was answered 404, so there is nothing to read"]
    flaws = [f"no request id on {status}" for status in (400, 401, 403, 404, 405, 413, 415, 422, 431)]
    await run_one_check("errors_have_a_request_id", Gateway(*flaws), text, log=id_log)
    reasons = [event["expected"] for event in id_log.of("judgement") if event["row"] == "GW-HTTP-10"]
    assert reasons == ["fewer than two answers had a request id, which GW-HTTP-08 judges"]


async def test_verifications_without_a_limit_leave_the_rows_of_429_decided(tmp_path: Path) -> None:
    """Where no verification is throttled, what every 429 carries is for those of a tenant's rate to show."""
    verdicts = await run_check("verification_is_throttled", tmp_path, "no receipt rate")
    assert verdicts.pop("GW-RCPT-31") is Verdict.FAIL
    assert set(verdicts.values()) == {Verdict.NOT_APPLICABLE}


async def test_a_key_that_was_free_before_its_repeat_came_is_undecided(tmp_path: Path) -> None:
    """Where slow calls take the half minute that is left of the day, an original that is gone is no breach."""
    verdicts = await run_check("a_key_is_bound_for_a_day", tmp_path, slow=(4, 20.0))
    assert verdicts == dict.fromkeys(("GW-IDEM-09", "GW-IDEM-10"), Verdict.INCONCLUSIVE)


async def test_limits_that_cannot_be_met_are_undecided(tmp_path: Path) -> None:
    """Where no minute can pass, or the target's limits are raised, limit rows have no verdict."""
    without = _without_limited(tmp_path)
    raised_limits = without.replace("[gateway]\n", '[gateway]\nlimits = "raised"\n')
    raised_limits += f'[clock]\noffset_file = "{tmp_path / "clock"}"\n'
    for text in (without, raised_limits):
        verdicts = await run_check("a_burst_passes", tmp_path, profile=text)
        assert verdicts == {"GW-RATE-02": Verdict.INCONCLUSIVE}


@pytest.mark.parametrize("path", ["/openapi.json", "/status", "/v1/resources/"])
async def test_what_is_read_has_a_request_id_too(path: str, tmp_path: Path) -> None:
    """Documents, and the statuses and records that a target claims to show, are successes like any other."""
    text = profile_text(tmp_path).replace("[gateway]\n", f"{_OPTIONS}[gateway]\n", 1)
    name = "successes_have_a_request_id"
    assert set() == find_broken_rows(await run_check(name, tmp_path, profile=text))
    assert {"GW-HTTP-07"} == find_broken_rows(await run_check(name, tmp_path, f"no request id at {path}", profile=text))


def _without_limited(folder: Path) -> str:
    """Return the profile without the service for limits."""
    text = profile_text(folder)
    start, end = text.index("[limited.gateway]"), text.index("[tenants.first]")
    return text[:start] + text[end : text.index("[limited.gateway.tenants.first]")]


async def test_a_limited_service_is_asked_with_the_same_bindings(tmp_path: Path) -> None:
    """Its tenants create links on the networks of the target's tenants, where the profile names no others."""
    head, limited_tables = profile_text(tmp_path).split("[limited.gateway]")
    bare = re.sub(r"\[limited\.gateway\.tenants\.\w+\.payout\]\n(\w+ = \"address\"\n?)+", "", limited_tables)
    assert bare != limited_tables
    verdicts = await run_check("a_sustained_rate_is_throttled", tmp_path, profile=f"{head}[limited.gateway]{bare}")
    assert verdicts == dict.fromkeys(("GW-RATE-01", "GW-RATE-05", "GW-RATE-06"), Verdict.PASS)
