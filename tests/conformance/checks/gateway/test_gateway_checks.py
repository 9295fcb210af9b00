"""What the checks of the gateway make of an honest gateway and of gateways with one flaw each."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.check import REGISTRY
from conformance.runner import registered
from conformance.verdict import Verdict
from tests.conformance.checks.gateway.scripted_gateway import breached, judged, profile_text

# Each flaw with the check that must see it and the rows that it must break, no others.
FLAWS = [
    ("any media type at /v1/payment-links", "links_want_json", {"GW-HTTP-01"}),
    ("any media type at /v1/resources", "resources_want_json", {"GW-HTTP-02"}),
    ("any media type at /v1/receipt/verify", "receipt_verification_wants_json", {"GW-HTTP-03"}),
    ("any media type at /compliance/screen", "screening_wants_json", {"GW-HTTP-04"}),
    ("charsets are refused", "json_may_name_its_charset", {"GW-HTTP-05"}),
    ("no envelope on 415", "a_wrong_media_type_gets_the_envelope", {"GW-HTTP-06"}),
    ("one request id", "successes_have_a_request_id", {"GW-HTTP-10"}),
    ("one request id", "errors_have_a_request_id", {"GW-HTTP-10"}),
    *(
        (f"no request id on {status}", "errors_have_a_request_id", {"GW-HTTP-08"})
        for status in (400, 401, 404, 405, 415)
    ),
    *(
        (f"no envelope on {status}", "errors_use_the_envelope", {"GW-ERR-01", "GW-ERR-02"})
        for status in (400, 401, 403, 404, 405, 415, 422)
    ),
    *((f"no message on {status}", "errors_use_the_envelope", {"GW-ERR-02"}) for status in (401, 403, 404, 405, 422)),
    ("codes are sentences", "errors_use_the_envelope", {"GW-ERR-05"}),
    ("codes are numbered", "a_fault_keeps_its_code", {"GW-ERR-04"}),
    ("no credential", "a_call_without_authorization_is_rejected", {"GW-AUTH-01"}),
    ("a rejected call is kept", "a_call_without_authorization_is_rejected", {"GW-AUTH-01"}),
    ("a rejected name is kept", "a_call_without_authorization_is_rejected", {"GW-AUTH-01"}),
    ("a rejected name is kept", "a_call_without_a_tenant_id_is_rejected", {"GW-AUTH-02"}),
    ("no tenant id", "a_call_without_a_tenant_id_is_rejected", {"GW-AUTH-02"}),
    ("keys by their beginning", "a_wrong_key_is_rejected", {"GW-AUTH-03"}),
    ("a rejected call is kept", "a_wrong_key_is_rejected", {"GW-AUTH-03"}),
    ("any scheme", "another_scheme_is_rejected", {"GW-AUTH-04"}),
    ("any tenant id", "a_key_opens_its_own_tenant_only", {"GW-AUTH-05"}),
    ("a rejected call is kept", "a_key_opens_its_own_tenant_only", {"GW-AUTH-05"}),
    ("no envelope on 401", "a_call_without_authorization_is_rejected", {"GW-AUTH-08"}),
    ("no resources", "resources_exist", {"GW-RES-01"}),
    ("no resources", "a_resource_is_created", {"GW-RES-02"}),
    ("no resources", "a_key_with_its_tenant_is_accepted", {"GW-AUTH-07"}),
    ("amounts are texts", "a_link_has_its_members", {"GW-LINK-05"}),
    ("the address is another's", "the_checkout_address_ends_with_the_token", {"GW-LINK-07"}),
    ("the address has a query", "the_checkout_address_ends_with_the_token", {"GW-LINK-08", "GW-LINK-09"}),
    ("underscores stay", "a_link_names_the_network_that_was_asked_for", {"GW-LINK-10", "GW-LINK-11"}),
    ("one network", "a_link_names_the_network_that_was_asked_for", {"GW-LINK-11"}),
    ("no zone", "a_link_tells_when_it_expires", {"GW-LINK-14"}),
    ("tokens are counted", "tokens_cannot_be_guessed", {"GW-LINK-17"}),
    ("tokens are short", "tokens_cannot_be_guessed", {"GW-LINK-17"}),
    ("floats", "amounts_are_exact", {"GW-LINK-13"}),
    ("texts of digits", "an_amount_is_a_number", {"GW-LINK-19"}),
    ("any amount", "an_amount_is_positive", {"GW-LINK-20"}),
    ("any label", "texts_are_texts", {"GW-LINK-21"}),
    ("any currency", "texts_are_texts", {"GW-LINK-21"}),
    ("networks are replaced", "an_unknown_network_is_refused", {"GW-LINK-22"}),
    ("a key is demanded", "the_key_is_optional", {"GW-IDEM-01", "GW-IDEM-02"}),
    ("keys do nothing", "a_repeat_returns_the_original_link", {"GW-IDEM-03"}),
    ("keys do nothing", "a_repeat_returns_the_original_resource", {"GW-IDEM-04"}),
    ("keys in any case", "other_keys_are_other_things", {"GW-IDEM-05"}),
    ("a changed body creates", "a_changed_body_creates_nothing", {"GW-IDEM-06"}),
    ("keys race", "concurrent_calls_create_one", {"GW-IDEM-07"}),
    ("keys of all tenants", "a_key_belongs_to_its_tenant", {"GW-IDEM-08"}),
    ("one request id", "a_repeat_returns_the_original_link", {"GW-IDEM-11"}),
    ("a window of 23 hours", "a_key_is_bound_for_a_day", {"GW-IDEM-09"}),
    ("no window", "a_key_is_bound_for_a_day", {"GW-IDEM-10"}),
    ("no rate", "a_sustained_rate_is_throttled", {"GW-RATE-01"}),
    ("a rate of 600", "a_sustained_rate_is_throttled", {"GW-RATE-01"}),
    ("a rate per endpoint", "a_sustained_rate_is_throttled", {"GW-RATE-01"}),
    ("a burst of 30", "a_burst_passes", {"GW-RATE-02"}),
    ("no Retry-After", "a_throttled_call_is_told_when_to_come_back", {"GW-RATE-03"}),
    ("Retry-After is a word", "a_throttled_call_is_told_when_to_come_back", {"GW-RATE-03"}),
    ("no envelope on 429", "a_throttled_call_is_told_when_to_come_back", {"GW-RATE-04"}),
    ("no request id on 429", "a_throttled_call_is_told_when_to_come_back", {"GW-HTTP-08"}),
    ("Retry-After is too short", "a_call_succeeds_after_the_wait", {"GW-RATE-05"}),
    ("one rate for all", "a_tenant_is_throttled_alone", {"GW-RATE-06"}),
    ("a throttled call is kept", "a_throttled_creation_creates_nothing", {"GW-RATE-07"}),
    ("no receipt rate", "verification_is_throttled", {"GW-RCPT-31"}),
    ("a receipt rate of 90", "spaced_verifications_pass", {"GW-RCPT-32"}),
    ("the edge creates", "the_edge_host_creates_nothing", {"GW-DOC-02"}),
]
CHECKS = sorted({check for _, check, _ in FLAWS} | {"errors_may_tell_more", "two_creations_are_two_links"})


@pytest.mark.parametrize("name", CHECKS)
async def test_an_honest_gateway_passes(name: str, tmp_path: Path) -> None:
    """Every check judges each of its rows, and finds no fault with a gateway that has none."""
    registered()
    verdicts = await judged(name, tmp_path)
    assert dict.fromkeys(REGISTRY[name].rows, Verdict.PASS) == verdicts


@pytest.mark.parametrize(("flaw", "name", "rows"), FLAWS)
async def test_a_flaw_breaks_its_row_and_no_other(flaw: str, name: str, rows: set[str], tmp_path: Path) -> None:
    """A gateway that drops one rule is caught by the row of that rule."""
    assert rows == breached(await judged(name, tmp_path, flaw))


@pytest.mark.parametrize("name", CHECKS)
async def test_without_credentials_nothing_is_judged_in_vain(name: str, tmp_path: Path) -> None:
    """Where the profile has no tenant, rows that need one are undecided; no check fails or breaks down."""
    text = profile_text(tmp_path)
    bare = text[: text.index("[limited.gateway]")]
    verdicts = await judged(name, tmp_path, profile=bare)
    assert set() == breached(verdicts)
