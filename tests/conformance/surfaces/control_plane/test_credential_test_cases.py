"""Credentials with chosen faults, by their first one."""

from __future__ import annotations

from conformance.surfaces.control_plane.credential_test_cases import (
    list_member_faults,
    list_vector_keys,
    list_whole_faults,
)

KEYS = list_vector_keys()
ORDER = ["unsupported_alg", "wrong_issuer", "no_public_key", "kid_mismatch", "timestamp_parse", "sig_invalid"]


def test_the_first_of_several_faults_is_the_reason() -> None:
    """Each pair of faults is tried for certificates and for passports, and its first fault decides."""
    pairs = [one for one in list_whole_faults() if " and " in one.name and ": " in one.name]
    for trial in pairs:
        faults = trial.name.partition(": ")[2].split(" and ")
        assert trial.judge(KEYS).reason == min(faults, key=ORDER.index), trial.name
    tried = {tuple(trial.name.partition(": ")[2].split(" and ")) for trial in pairs}
    assert {(one, two) for place, one in enumerate(ORDER) for two in ORDER[place + 1 :]} <= tried


def test_every_reason_that_the_order_has_is_tried() -> None:
    """The two that need a library or a trust set to be missing are tried elsewhere."""
    reasons = {one.judge(KEYS).reason for one in list_whole_faults()}
    assert {None, "envelope_decode", "envelope_shape", *ORDER, "expired", "score_too_low", "not_passed"} == reasons


def test_a_wrong_member_is_a_fault_of_the_shape() -> None:
    """A credential without a member, or with a value that it may not have, has no shape; each is tried once."""
    trials = list(list_member_faults())
    assert {one.judge(KEYS).reason for one in trials} == {"envelope_shape"}
    names = [one.name for one in trials]
    assert len(names) == len(set(names))
    assert "atb_certificate with score true" in names
    assert "agent_passport without agent_did" in names
