"""Agents with unknown words and shapes: what is open decides nothing until it is bound, and then everything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from conformance.checks.agent.vectors import code_is_open
from conformance.engine.check_loading import load_checks
from conformance.oracles.message_signatures import judgement
from conformance.oracles.message_signatures.message import Message
from conformance.outcome import Inconclusive, Verdict
from conformance.surfaces.agent import EXPLAIN, SIGN, VERIFY
from conformance.vectors import message_signatures
from tests.conformance.checks.agent.scripted_agent import FOREIGN, Agent, Foreign, Look, Reply, at, run_check
from tests.conformance.checks.trial import find_broken_rows

JUDGING_CHECKS = (
    *("sound_messages_are_valid", "wrong_signatures_are_not_valid", "the_expected_key_decides"),
    *("only_what_is_covered_counts", "the_content_is_compared", "what_is_covered_is_there_once"),
    *("extras_and_repeats_change_nothing", "explanations_say_pass_or_fail", "either_form_of_the_key_will_do"),
)
SIGNING = ("demo_requests_are_signed", "every_demo_key_is_fresh", "demo_requests_tolerate_extras")
WORDS = "validity_words = { accepted = true, refused = false }"


class Worded(Look):
    """Says in a word of its own whether a message is valid."""

    def result(self, judged: judgement.Judgement, message: Message, *, explain: bool) -> dict[str, Any]:
        """Return the answer with `outcome` in place of `valid`."""
        verdict_by_row = super().result(judged, message, explain=explain)
        valid = verdict_by_row.pop("valid")
        return {**verdict_by_row, "outcome": "accepted" if valid else "refused"}


class Signing(Look):
    """Takes the request to be signed in an object of its own, and answers what signing adds under short names."""

    def sign_request(self, request_members: Mapping[str, Any]) -> dict[str, Any]:
        """Sign `{"sign": {...}}`."""
        verdict_by_row = super().sign_request(request_members["sign"])
        fields = {name.lower(): value for name, value in verdict_by_row.pop("headers").items()}
        names = {"input": "signature-input", "sig": "signature", "digest": "content-digest"}
        return {**verdict_by_row, "added": {short: fields[name] for short, name in names.items() if name in fields}}


def bind_agent(text: str) -> str:
    """Return the profile with lines in its table of the agent."""
    return f"{FOREIGN}\n[agent]\n{text}\n"


SIGN_BODY = (
    'sign_body = { sign = { method = "{method}", authority = "{authority}", scheme = "{scheme}", path = "{path}", '
    'headers = "{headers}", body_b64 = "{body_b64}" } }'
)
SIGNED_FIELDS = (
    'signed_fields = { signature-input = "added.input", signature = "added.sig", content-digest = "added.digest" }'
)


@pytest.mark.parametrize("name", JUDGING_CHECKS)
async def test_a_word_that_is_not_known_decides_nothing(name: str) -> None:
    """No row is broken, and none that the word decides passes."""
    verdict_by_row = await run_check(name, Agent(look=Worded()), FOREIGN)
    assert find_broken_rows(verdict_by_row) == set()
    assert Verdict.INCONCLUSIVE in verdict_by_row.values()


@pytest.mark.parametrize("name", JUDGING_CHECKS)
async def test_a_word_that_is_bound_is_understood(name: str) -> None:
    """With the words bound every row passes as it does for the usual ones."""
    verdict_by_row = await run_check(name, Agent(look=Worded()), bind_agent(f'validity_at = "outcome"\n{WORDS}'))
    assert set(verdict_by_row.values()) <= {Verdict.PASS, Verdict.NOT_APPLICABLE}


async def test_the_words_alone_will_do() -> None:
    """Where they stand is found by what they say."""
    verdict_by_row = await run_check("the_expected_key_decides", Agent(look=Worded()), bind_agent(WORDS))
    assert set(verdict_by_row.values()) == {Verdict.PASS}


async def test_what_is_to_be_bound_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason gives the keys as they go into the profile."""
    reasons: list[str] = []
    real = Inconclusive.__init__

    def keep_reason(self: Inconclusive, *request_members: Any) -> None:
        reasons.append(str(request_members[0]))
        real(self, *request_members)

    monkeypatch.setattr(Inconclusive, "__init__", keep_reason)
    await run_check("the_expected_key_decides", Agent(look=Worded()), FOREIGN)
    await run_check("demo_requests_are_signed", Agent(look=Signing()), FOREIGN)
    assert any('validity_words = { "accepted" = true, "refused" = false }' in text for text in reasons)
    assert any("give [agent] sign_body" in text for text in reasons)


async def test_a_bound_word_still_breaks_rows() -> None:
    """An agent that accepts everything is judged for that as soon as its words are known."""
    lax = Agent(at(VERIFY, lambda document: {**document, "outcome": "accepted"}), Worded())
    verdict_by_row = await run_check("the_expected_key_decides", lax, bind_agent(f'validity_at = "outcome"\n{WORDS}'))
    assert verdict_by_row["AGENT-VERIFY-06"] is Verdict.FAIL


async def test_an_agent_that_says_the_same_of_everything_is_judged_where_its_body_is_bound() -> None:
    """Nothing in its answers differs, so nothing else is left to bind; under a guessed body it may never have read."""
    constant = Agent(at(VERIFY, lambda _: {"received": "yes"}))
    names = ("method", "authority", "scheme", "path", "headers", "body_b64", "public_key_hex", "did_key")
    body = ", ".join(f'{name} = "{{{name}}}"' for name in names)
    verdict_by_row = await run_check(
        "wrong_signatures_are_not_valid", constant, bind_agent(f"verify_body = {{ {body} }}")
    )
    assert verdict_by_row["AGENT-VERIFY-02"] is Verdict.FAIL
    assert (await run_check("wrong_signatures_are_not_valid", constant, FOREIGN))["AGENT-VERIFY-02"] is (
        Verdict.INCONCLUSIVE
    )


async def test_an_explanation_in_a_word_of_its_own_decides_nothing() -> None:
    """Verify says true and false, explain a word: that row waits for the word."""

    def change_words(document: dict[str, Any]) -> dict[str, Any]:
        other_members = {name: value for name, value in document.items() if name != "valid"}
        return {**other_members, "verdict": "accepted" if document["valid"] else "refused"}

    verdict_by_row = await run_check("either_form_of_the_key_will_do", Agent(at(EXPLAIN, change_words)), FOREIGN)
    assert set(verdict_by_row.values()) == {Verdict.INCONCLUSIVE}


@pytest.mark.parametrize("name", SIGNING)
async def test_a_sign_operation_of_another_shape_decides_nothing(name: str) -> None:
    """Its refusal of verify's body breaks nothing."""
    verdict_by_row = await run_check(name, Agent(look=Signing()), FOREIGN)
    assert set(verdict_by_row.values()) == {Verdict.INCONCLUSIVE}


@pytest.mark.parametrize("name", SIGNING)
async def test_a_signed_answer_of_another_shape_decides_nothing(name: str) -> None:
    """The body is bound, the places of what it answers are not."""
    verdict_by_row = await run_check(name, Agent(look=Signing()), bind_agent(SIGN_BODY))
    assert set(verdict_by_row.values()) == {Verdict.INCONCLUSIVE}


@pytest.mark.parametrize("name", SIGNING)
async def test_a_sign_operation_that_is_bound_is_judged(name: str) -> None:
    """Body and places bound, every row passes."""
    verdict_by_row = await run_check(name, Agent(look=Signing()), bind_agent(f"{SIGN_BODY}\n{SIGNED_FIELDS}"))
    assert set(verdict_by_row) == set(next(one for one in load_checks() if one.id == name).rows)
    assert set(verdict_by_row.values()) == {Verdict.PASS}


@pytest.mark.parametrize("name", SIGNING)
async def test_a_body_of_sign_is_found_where_it_is_a_usual_one(name: str) -> None:
    """Verify takes an envelope, sign the family's own members."""

    class Mixed(Foreign):
        def sign_request(self, request_members: Mapping[str, Any]) -> dict[str, Any]:
            if "message" in request_members:
                raise ValueError("no envelope here")
            return Look.sign_request(self, {name: request_members[name] for name in request_members if name != "url"})

    verdict_by_row = await run_check(name, Agent(look=Mixed()), FOREIGN)
    assert set(verdict_by_row.values()) == {Verdict.PASS}


async def test_a_sign_operation_that_is_not_there_is_judged() -> None:
    """404 says nothing of a body's shape."""
    absent = Agent(lambda call, reply: Reply(404, {"detail": "Not Found"}) if call.path == SIGN else reply)
    verdict_by_row = await run_check("demo_requests_are_signed", absent, FOREIGN)
    assert verdict_by_row["AGENT-SIGN-01"] is Verdict.FAIL


class OtherCodes(Look):
    """Names faults that no clause names by codes of its own choice."""

    def result(self, judged: judgement.Judgement, message: Message, *, explain: bool) -> dict[str, Any]:
        """Return the answer with another code for what it could not parse, and no digest for a field that has none."""
        verdict_by_row = super().result(judged, message, explain=explain)
        verdict_by_row["error_codes"] = [CHOICES.get(code, code) for code in verdict_by_row["error_codes"]]
        if explain and {"content_digest_malformed", "content_digest_unsupported"} & set(verdict_by_row["error_codes"]):
            verdict_by_row["content_digest"] = {"computed": None}
        return verdict_by_row


CHOICES: dict[str, str] = {}


@pytest.mark.parametrize(
    ("code", "instead", "rows"),
    [
        ("", "", set()),
        ("signature_mismatch", "key_rejected", {"AGENT-VERIFY-04"}),
    ],
)
async def test_a_code_that_a_clause_states_is_demanded(
    code: str, instead: str, rows: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A digest of nothing that is known has no stated value; a code that is stated is the one to give."""
    monkeypatch.setitem(CHOICES, code, instead)
    profile = FOREIGN.replace('"none"', '"reference"')
    assert find_broken_rows(await run_check("vectors_are_judged", Agent(look=OtherCodes()), profile)) >= rows
    assert (
        "AGENT-EXPLAIN-05" in find_broken_rows(await run_check("vectors_are_judged", Agent(look=OtherCodes()), profile))
    ) is False


def test_a_fault_that_a_decision_of_ours_names_has_no_stated_code() -> None:
    """Neither interface, standard nor profile says by which code a String as `created` is refused."""
    vectors_by_id = {one.id: one for one in message_signatures()}
    assert code_is_open(vectors_by_id["rfc9421/headers/created-not-an-integer/string"])
    assert not code_is_open(vectors_by_id["rfc9421/headers/input-list-broken/not-closed"])
    assert sum(map(code_is_open, vectors_by_id.values())) >= 11


class Young(Look):
    """Refuses signatures that are older than five minutes."""

    def request(self, request_members: Mapping[str, Any]) -> Mapping[str, Any]:
        """Demand what the caller does not."""
        return {"max_age_seconds": 300, **request_members}


async def test_a_verifier_that_wants_young_signatures_is_not_held_to_old_ones() -> None:
    """Every vector is old: those that hold say nothing of it, and the codes of others are not compared."""
    codes = 'codes_at = "error_codes"\nerror_codes = { signature_mismatch = "signature_mismatch" }'
    verdict_by_row = await run_check("vectors_are_judged", Agent(look=Young()), bind_agent(codes))
    assert find_broken_rows(verdict_by_row) == set()
    assert set(verdict_by_row) == set(next(one for one in load_checks() if one.id == "vectors_are_judged").rows)


async def test_a_verifier_that_takes_old_signatures_is_held_to_them() -> None:
    """One that refuses what holds, whatever its age, is judged as before."""

    def picky(document: dict[str, Any]) -> dict[str, Any]:
        is_refused = 'keyid="test-key-ed25519"' in document["signature_base"]
        return {**document, "valid": False, "errors": ["no"]} if is_refused else document

    verdict_by_row = await run_check("vectors_are_judged", Agent(at(VERIFY, picky)), FOREIGN)
    assert "AGENT-VERIFY-11" in find_broken_rows(verdict_by_row)
