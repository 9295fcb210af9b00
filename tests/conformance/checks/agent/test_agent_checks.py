"""What the agent's checks make of agents that are honest, under two sets of names, and of small wrong ones."""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from multidict import CIMultiDictProxy

from conformance.engine.check_loading import load_checks
from conformance.http.client import Unreachable
from conformance.ledger import load
from conformance.log.events import EventLog
from conformance.oracles.message_signatures import judgement, keys, signing, verify_request_members
from conformance.oracles.message_signatures.algorithms import SigningKey
from conformance.oracles.message_signatures.faults import Code, Fault
from conformance.oracles.message_signatures.message import Message
from conformance.outcome import ON_WORD, Verdict
from conformance.surfaces.agent import CARD, EXPLAIN, LEGACY_CARD, SIGN, VERIFY
from conformance.surfaces.agent.subjects import raw_public
from conformance.target import ProfileError, parse
from tests.conformance.checks.agent.scripted_agent import (
    BASE,
    FOREIGN,
    PROFILE,
    Agent,
    Call,
    Change,
    Foreign,
    Look,
    Reply,
    answer_malformed,
    at,
    only_added,
    run_check,
)
from tests.conformance.checks.trial import find_broken_rows, run_one_check

# The scripted agents do not claim the specification, and a run asks them nothing about these rows.
CLAIMED_ROWS = {row.id for row in load() if row.option == "specification"}
CHECKS = sorted(
    one.id
    for one in load_checks()
    if one.surface == "agent"
    and all(row.startswith("AGENT-") for row in one.rows)
    and not set(one.rows) <= CLAIMED_ROWS
    and one.id != "vectors_are_judged"
)
# Skills over A2A are of the reference only; the scripted agent has none.
NAMED_CHECKS = [name for name in CHECKS if name != "the_transport_speaks_json_rpc"]


MALFORMED_ROWS = (("verify", "AGENT-VERIFY-16"), ("explain", "AGENT-EXPLAIN-13"), ("sign", "AGENT-SIGN-10"))


@pytest.mark.parametrize("name", NAMED_CHECKS)
async def test_an_honest_agent_breaks_no_row(name: str) -> None:
    """Every row that a check judges passes, or is documented."""
    verdict_by_row = await run_check(name, Agent())
    verdicts = {verdict for row, verdict in verdict_by_row.items() if row not in CLAIMED_ROWS}
    assert verdicts <= {Verdict.PASS, Verdict.DOCUMENTED, Verdict.NOT_APPLICABLE}


@pytest.mark.parametrize("name", CHECKS)
async def test_an_honest_agent_of_other_names_breaks_no_row(name: str) -> None:
    """Names that are not bound are discovered: rows pass, and no row is broken."""
    verdict_by_row = await run_check(name, Agent(look=Foreign()), FOREIGN)
    assert find_broken_rows(verdict_by_row) == set()
    assert set(verdict_by_row) == set(next(one for one in load_checks() if one.id == name).rows)
    verdicts = {verdict for row, verdict in verdict_by_row.items() if row not in CLAIMED_ROWS}
    assert verdicts <= {Verdict.PASS, Verdict.DOCUMENTED, Verdict.NOT_APPLICABLE}


async def test_an_agent_that_nobody_understands_decides_nothing() -> None:
    """Where no body is understood, rows are inconclusive."""
    dumb = Agent(lambda call, reply: answer_malformed("what?") if call.path.startswith("/verify") else reply)
    verdict_by_row = await run_check("sound_messages_are_valid", dumb, FOREIGN)
    assert set(verdict_by_row.values()) == {Verdict.INCONCLUSIVE}


async def test_an_agent_that_limits_decides_nothing() -> None:
    """429 for everything is no breach of any row."""
    limiting_agent = Agent(lambda _, reply: Reply(429, {"detail": "too many"}) if reply.status == 200 else reply)
    for name in ("sound_messages_are_valid", "demo_requests_are_signed", "explanations_need_no_key"):
        assert set((await run_check(name, limiting_agent)).values()) == {Verdict.INCONCLUSIVE}


def says(**members: Any) -> Callable[[Any], Any]:
    """Return what sets members of a document."""
    return lambda document: {**document, **members}


def without(*names: str) -> Callable[[Any], Any]:
    """Return what takes members away."""
    return lambda document: {name: value for name, value in document.items() if name not in names}


def refused_as(status: int, kind: type) -> Change:
    """Return what answers bodies of a JSON type with a status."""

    def change(call: Call, reply: Reply) -> Reply:
        is_hit = call.path.startswith("/verify") and call.body and isinstance(call.document, kind)
        return Reply(status, {"detail": "Bad Request"}) if is_hit else reply

    return change


def unread_as(code: int) -> Change:
    """Return what answers a call that is no JSON with another code."""

    def change(call: Call, reply: Reply) -> Reply:
        if call.path != "/a2a" or call.method != "POST" or isinstance(call.document, dict):
            return reply
        return Reply(200, {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": "no"}})

    return change


def breaking_without_key_and_digest(call: Call, reply: Reply) -> Reply:
    """Break down over a message without a key whose covered digest is missing."""
    is_complete = call.path != EXPLAIN or b"Content-Digest" in call.body or b"public_key_hex" in call.body
    return reply if is_complete else Reply(500, {"detail": "Internal Server Error"})


SKILL = {"id": "s", "name": "n", "description": "d", "tags": []}
VALID = says(valid=True, errors=[], error_codes=[])


@pytest.mark.parametrize(
    ("check", "row", "change"),
    [
        ("wrong_signatures_are_not_valid", "AGENT-VERIFY-02", at(VERIFY, VALID)),
        ("the_expected_key_decides", "AGENT-VERIFY-06", at(VERIFY, VALID)),
        ("only_what_is_covered_counts", "AGENT-VERIFY-08", at(VERIFY, VALID)),
        ("the_content_is_compared", "AGENT-VERIFY-10", at(VERIFY, VALID)),
        ("what_is_covered_is_there_once", "AGENT-VERIFY-12", at(VERIFY, VALID)),
        ("what_is_covered_is_there_once", "AGENT-VERIFY-13", at(VERIFY, VALID)),
        ("what_is_covered_is_there_once", "AGENT-VERIFY-14", at(VERIFY, VALID)),
        ("sound_messages_are_valid", "AGENT-VERIFY-01", at(VERIFY, says(valid=False, errors=["no"]))),
        ("only_what_is_covered_counts", "AGENT-VERIFY-09", at(VERIFY, says(valid=False, errors=["no"]))),
        ("sound_messages_are_valid", "AGENT-VERIFY-04", at(VERIFY, without("errors"))),
        ("sound_messages_are_valid", "AGENT-VERIFY-05", at(VERIFY, says(errors=["fine"]))),
        ("wrong_signatures_are_not_valid", "AGENT-VERIFY-02", at(VERIFY, says(errors=[]))),
        ("verify_refuses_malformed_bodies", "AGENT-VERIFY-17", refused_as(400, list)),
        ("explain_refuses_malformed_bodies", "AGENT-EXPLAIN-13", refused_as(400, list)),
        ("sign_refuses_malformed_bodies", "AGENT-SIGN-10", refused_as(400, int)),
        ("explanations_say_pass_or_fail", "AGENT-EXPLAIN-01", at(EXPLAIN, says(valid=None))),
        ("explanations_say_pass_or_fail", "AGENT-EXPLAIN-11", at(EXPLAIN, says(valid=True))),
        ("explanations_say_pass_or_fail", "AGENT-EXPLAIN-06", at(EXPLAIN, says(fix_notes=[]))),
        ("explanations_need_no_key", "AGENT-EXPLAIN-07", at(EXPLAIN, says(signature_base="canned"))),
        ("explanations_need_no_key", "AGENT-EXPLAIN-07", breaking_without_key_and_digest),
        ("explanations_recompute_the_digest", "AGENT-EXPLAIN-05", at(EXPLAIN, says(content_digest={"computed": "x"}))),
        ("demo_requests_are_signed", "AGENT-SIGN-02", at(SIGN, without("signature_base"))),
        ("demo_requests_are_signed", "AGENT-SIGN-03", at(SIGN, without("public_key_hex"))),
        ("demo_requests_are_signed", "AGENT-SIGN-01", at(SIGN, says(headers={}))),
        ("demo_requests_are_signed", "AGENT-SIGN-01", at(SIGN, only_added)),
        ("cards_name_the_agent", "AGENT-CARD-01", at(CARD, without("name"))),
        ("cards_name_the_agent", "AGENT-CARD-01", at(CARD, says(protocolVersion=None))),
        ("cards_name_the_agent", "AGENT-CARD-01", at(CARD, says(additionalInterfaces="JSONRPC"))),
        ("cards_name_the_agent", "AGENT-CARD-01", at(CARD, says(capabilities={"extensions": None}))),
        ("cards_name_the_agent", "AGENT-CARD-01", at(CARD, says(capabilities={"extensions": [{"uri": 5}]}))),
        ("cards_name_the_agent", "AGENT-CARD-01", at(CARD, says(defaultInputModes=[None]))),
        ("cards_name_the_agent", "AGENT-CARD-01", at(CARD, says(skills=[{**SKILL, "tags": None}]))),
        ("cards_name_the_agent", "AGENT-CARD-01", at(CARD, says(skills=[{**SKILL, "tags": [5]}]))),
        ("cards_name_the_agent", "AGENT-CARD-01", at(CARD, says(skills=[{**SKILL, "id": ""}]))),
        ("cards_name_the_agent", "AGENT-CARD-02", at(LEGACY_CARD, lambda _: [])),
        ("cards_name_the_agent", "AGENT-CARD-03", at(LEGACY_CARD, says(name="another"))),
        ("health_and_landing_are_json", "AGENT-HTTP-02", at("/", lambda _: b"<html>")),
        ("openapi_describes_the_agent", "AGENT-OAS-01", at("/openapi.json", says(openapi="3.0.3"))),
        ("openapi_describes_the_agent", "AGENT-OAS-03", at("/openapi.json", says(security=[{"key": []}]))),
        ("get_points_to_post", "AGENT-A2A-01", at("/a2a", says(hint="hello"))),
        ("the_transport_speaks_json_rpc", "AGENT-A2A-03", unread_as(-32600)),
    ],
)
async def test_a_wrong_agent_breaks_the_row(check: str, row: str, change: Change) -> None:
    """Each fault breaks its row."""
    assert row in find_broken_rows(await run_check(check, Agent(change)))


def first_json(call: Call, reply: Reply) -> Reply:
    """Take the first JSON text of a body for the body, as a reader of streams does."""
    try:
        verdict_by_row = json.JSONDecoder().raw_decode(call.body.decode().lstrip())[0]
    except (ValueError, RecursionError):
        return reply
    sound = isinstance(verdict_by_row, dict) and bool(verdict_by_row) and call.path in {VERIFY, EXPLAIN, SIGN}
    return Reply(200, {"valid": True}) if reply.status == 422 and sound else reply


@pytest.mark.parametrize(("operation", "row"), MALFORMED_ROWS)
async def test_junk_after_a_sound_body_is_no_json(operation: str, row: str) -> None:
    """An operation that reads the first JSON text of a body takes what is no JSON."""
    for profile, look in ((PROFILE, Look()), (FOREIGN, Foreign())):
        verdict_by_row = await run_check(f"{operation}_refuses_malformed_bodies", Agent(first_json, look), profile)
        assert row in find_broken_rows(verdict_by_row)


async def test_a_wrong_digest_that_is_signed_breaks_its_rows() -> None:
    """What came with the digest of another body is not valid at the agent's own verify."""

    class Keeping(Look):
        def sign_request(self, request_members: Mapping[str, Any]) -> dict[str, Any]:
            key = self.demo_key()
            message = verify_request_members.message_of(
                {**request_members, "headers": request_members.get("headers", {})}
            )
            if message.field("content-digest") is None:
                message = signing.with_digest(message)
            signed_message = signing.sign(
                message, key, signing.default_components(message), {"created": int(time.time())}
            )
            public = raw_public(key)
            return {
                **verify_request_members.members_of(signed_message.message),
                "signature_base": signed_message.base,
                "public_key_hex": public.hex(),
                "did_key": keys.did_key(public),
            }

    verdict_by_row = await run_check("demo_requests_are_signed", Agent(look=Keeping()))
    assert {"AGENT-SIGN-04", "AGENT-SIGN-09"} <= find_broken_rows(verdict_by_row)


async def test_an_agent_that_takes_no_long_content_breaks_nothing() -> None:
    """No length of a body is prescribed: 413 leaves it out."""

    def limit_content(call: Call, reply: Reply) -> Reply:
        return Reply(413, {"detail": "too long"}) if len(call.body) > 20_000 else reply

    verdicts = await run_check("the_content_is_compared", Agent(limit_content, Foreign()), FOREIGN)
    assert verdicts == {"AGENT-VERIFY-01": Verdict.NOT_APPLICABLE, "AGENT-VERIFY-10": Verdict.PASS}


async def test_an_openapi_document_in_pieces_is_not_judged() -> None:
    """Where a reference leads out of the document nothing is fetched: whether it is valid stays open."""
    pieces = says(components={"schemas": {"A": {"$ref": "http://127.0.0.1:9/other.json"}}})
    verdicts = await run_check("openapi_describes_the_agent", Agent(at("/openapi.json", pieces)))
    assert verdicts["AGENT-OAS-01"] is Verdict.INCONCLUSIVE


def base_line(change: Callable[[str], str]) -> Change:
    """Return what changes the base of explain."""
    return at(EXPLAIN, lambda document: {**document, "signature_base": change(document["signature_base"])})


@pytest.mark.parametrize(
    "change",
    [
        base_line(lambda text: text + "\n"),
        base_line(lambda text: text.replace("\n", "\r\n")),
        base_line(lambda text: "\n".join(text.splitlines()[::-1])),
        base_line(lambda text: text.upper()),
    ],
)
async def test_a_base_that_differs_in_bytes_breaks_its_row(change: Change) -> None:
    """A line feed at the end, other line ends, another order of lines: none of them is the base."""
    assert "AGENT-EXPLAIN-02" in find_broken_rows(await run_check("explanations_say_pass_or_fail", Agent(change)))


@pytest.mark.parametrize("look", [Look, Foreign])
async def test_components_in_another_order_break_their_row(look: type[Look]) -> None:
    """The list must be in signed order, under whatever name."""

    def reverse_components(document: Any) -> Any:
        report = document.get("report", document)
        for name in ("covered_components", "components"):
            if name in report:
                report[name] = report[name][::-1]
        return document

    profile = PROFILE if look is Look else FOREIGN
    verdict_by_row = await run_check(
        "explanations_show_what_is_signed", Agent(at(EXPLAIN, reverse_components), look()), profile
    )
    assert find_broken_rows(verdict_by_row) == {"AGENT-EXPLAIN-03"}


async def test_odd_values_in_an_answer_are_judged_and_break_no_check_off() -> None:
    """Members whose names are no texts are read over."""
    odd = at(EXPLAIN, says(more=[{"name": {}, "value": 1}, {"name": [], "value": None}, {"name": None}, None, 5]))
    assert find_broken_rows(await run_check("explanations_show_what_is_signed", Agent(odd))) == set()


class OneKey(Look):
    """Signs with the same key for ever."""

    def demo_key(self) -> SigningKey:
        """Return it."""
        return keys.read_private(bytes(range(32)))


async def test_one_demo_key_for_all_breaks_its_row() -> None:
    """The same key in two answers is not fresh."""
    assert find_broken_rows(await run_check("every_demo_key_is_fresh", Agent(look=OneKey()))) == {"AGENT-SIGN-06"}


class Taking(Look):
    """Signs with a key that the caller offers."""

    def sign_request(self, request_members: Any) -> dict[str, Any]:
        """Return a request signed with the offered key."""
        private_key = request_members.get("private_key_hex")
        plain = {name: value for name, value in request_members.items() if "key" not in name}
        if not isinstance(private_key, str):
            return super().sign_request(plain)
        key = OneKey()
        key.demo_key = lambda: keys.read_private(bytes.fromhex(private_key))  # type: ignore[method-assign]
        return key.sign_request(plain)


async def test_an_offered_key_that_is_used_breaks_its_row() -> None:
    """The public half of the offered key gives it away."""
    assert find_broken_rows(await run_check("offered_keys_are_never_used", Agent(look=Taking()))) == {"AGENT-SIGN-07"}


async def test_an_offered_key_that_is_echoed_breaks_its_row() -> None:
    """It is found in a refusal, too, also in another encoding."""

    def echo(call: Call, reply: Reply) -> Reply:
        private_key = call.members.get("private_key_hex")
        if not isinstance(private_key, str):
            return reply
        text = base64.b64encode(bytes.fromhex(private_key)).decode()
        return Reply(422, {"detail": [{"loc": ["body"], "msg": f"no {text}", "type": "x"}]})

    assert find_broken_rows(await run_check("offered_keys_are_never_used", Agent(echo))) == {"AGENT-SIGN-07"}


async def test_a_verdict_that_is_remembered_breaks_rows() -> None:
    """An answer kept by the signature alone is given to another key."""
    remembered: dict[str, Any] = {}

    def remember(call: Call, reply: Reply) -> Reply:
        if call.path != VERIFY or reply.status != 200:
            return reply
        place = str(call.members["headers"].get("Signature"))
        return Reply(200, remembered.setdefault(place, reply.document))

    assert "AGENT-VERIFY-06" in find_broken_rows(await run_check("the_expected_key_decides", Agent(remember)))


def answer_shape(document: Any) -> Change:
    """Return what answers every 422 with a document."""
    return lambda _, reply: Reply(422, document) if reply.status == 422 else reply


async def test_a_shape_that_is_none_is_told_by_its_row() -> None:
    """Each member of a validation error has a row."""
    shapes = {
        "AGENT-VALID-01": {"detail": "wrong"},
        "AGENT-VALID-02": {"detail": [{"loc": ["a", True], "msg": "m", "type": "t"}]},
        "AGENT-VALID-03": {"detail": [{"loc": [], "type": "t"}]},
        "AGENT-VALID-04": {"detail": [{"loc": [1], "msg": "m", "type": 1}]},
        "AGENT-VALID-05": {"detail": []},
    }
    for row, shape in shapes.items():
        agent = Agent(answer_shape(shape))
        assert find_broken_rows(await run_check("refusals_have_the_shape", agent)) == {row}


async def test_what_needs_a_network_is_told_by_the_agent_without_one() -> None:
    """An agent that fails without a network is not offline."""
    offline = PROFILE + '[agent]\noffline_url = "http://offline.test"\n'
    assert find_broken_rows(await run_check("verification_needs_no_network", Agent(), offline)) == set()
    helpless = Agent(at(VERIFY, says(valid=False, errors=["no name server"])))
    assert find_broken_rows(await run_check("verification_needs_no_network", helpless, offline)) == {"AGENT-VERIFY-20"}


@pytest.mark.parametrize("url", [BASE, BASE.upper().replace("HTTP", "http") + ":80/"])
def test_an_offline_agent_at_the_agents_own_address_is_refused(url: str) -> None:
    """An agent that can reach no network is another one than that which the suite reaches over it."""
    with pytest.raises(ProfileError, match="offline_url is the agent's own address"):
        parse(PROFILE + f'[agent]\noffline_url = "{url}"\n')


async def test_a_report_says_that_isolation_is_the_operators_word() -> None:
    """No request shows that an agent can reach no network."""
    log = EventLog()
    offline = FOREIGN + '[agent]\noffline_url = "http://offline.test"\n'
    await run_one_check("verification_needs_no_network", Agent(look=Foreign()), offline, log=log)
    assert {one["where"].get(ON_WORD) for one in log.of("judgement")} == {
        "the agent at [agent] offline_url can reach no network"
    }


@pytest.mark.parametrize("place", ["", '[agent]\nopenapi_path = "/openapi.json"\n'])
async def test_a_document_of_nobody_who_answers_is_not_judged(place: str) -> None:
    """A server that does not run publishes nothing wrong, whether or not its document's place is bound."""

    def dead(call: Call, reply: Reply) -> Reply:
        raise Unreachable(f"{call.method} {call.path}: refused, no {reply.status}")

    with pytest.raises(Unreachable):
        await run_check("openapi_describes_the_agent", Agent(dead), FOREIGN + place)


class Coded(Foreign):
    """Gives each problem its code."""

    def result(self, judged: judgement.Judgement, message: Message, *, explain: bool) -> dict[str, Any]:
        """Return the problems with a code each."""
        verdict_by_row = super().result(judged, message, explain=explain)
        verdict_by_row["report"]["problems"] = [{"code": f"E-{fault.code.value}"} for fault in judged.faults]
        return verdict_by_row


def bind_codes(place: str, **codes: str) -> str:
    """Return a profile that binds the place of codes, and what each is called."""
    names = {code.value: f"E-{code.value}" for code in Code} | codes
    table = ", ".join(f'{code} = "{theirs}"' for code, theirs in names.items())
    return FOREIGN + f'[agent]\ncodes_at = "{place}"\nerror_codes = {{ {table} }}\n'


async def test_codes_inside_a_list_of_objects_are_compared() -> None:
    """Each item of a list on the way stands for itself; the sentence names the target's own code."""
    right = await run_check("vectors_are_judged", Agent(look=Coded()), bind_codes("report.problems.code"))
    assert right["AGENT-VERIFY-04"] is Verdict.PASS
    log = EventLog()
    wrong = bind_codes("report.problems.code", signature_mismatch="E17")
    await run_one_check("vectors_are_judged", Agent(look=Coded()), wrong, log=log)
    judgements = [one for one in log.of("judgement") if one["row"] == "AGENT-VERIFY-04" and one["verdict"] == "fail"]
    assert judgements
    assert all("E17" in one["expected"] for one in judgements)


async def test_a_place_without_codes_is_named() -> None:
    """Nothing is compared there, and nothing is broken."""
    log = EventLog()
    await run_one_check("vectors_are_judged", Agent(look=Coded()), bind_codes("report.problems.number"), log=log)
    judgements = [one for one in log.of("judgement") if one["row"] == "AGENT-VERIFY-04"]
    assert {one["verdict"] for one in judgements} == {"pass", "not_applicable", "inconclusive"}
    assert any("[agent] codes_at" in str(one) for one in judgements if one["verdict"] == "inconclusive")


async def test_an_offline_agent_that_is_not_there_breaks_nothing() -> None:
    """No server has ever answered at its address: whether it verifies without a network is unknown."""

    class Gone(Agent):
        def has_answered(self, url: str) -> bool:
            return "offline.test" not in url

        async def send(
            self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes | None
        ) -> tuple[int, CIMultiDictProxy[str], bytes]:
            if "offline.test" in url:
                raise Unreachable("no server is there")
            return await super().send(method, url, headers, body)

    offline = PROFILE + '[agent]\noffline_url = "http://offline.test"\n'
    assert await run_check("verification_needs_no_network", Gone(), offline) == {
        "AGENT-VERIFY-20": Verdict.INCONCLUSIVE
    }


async def test_every_vector_passes_an_honest_agent_and_breaks_a_blind_one() -> None:
    """The vectors' check has no complaint about the oracle behind an agent's door, and sees a blind one."""
    honest = await run_check("vectors_are_judged", Agent())
    assert find_broken_rows(honest) - CLAIMED_ROWS == set()
    blind = find_broken_rows(await run_check("vectors_are_judged", Agent(at(VERIFY, VALID))))
    assert {f"AGENT-VERIFY-{n:02}" for n in (2, 6, 7, 8, 10, 11, 12, 13, 14)} <= blind


async def test_vectors_that_the_profile_decides_are_not_sent_to_others() -> None:
    """A target of other names is judged by what the standards say alone."""
    verdict_by_row = await run_check("vectors_are_judged", Agent(look=Foreign()), FOREIGN)
    assert find_broken_rows(verdict_by_row) == set()
    assert set(verdict_by_row) == set(next(one for one in load_checks() if one.id == "vectors_are_judged").rows)
    assert {row for row, verdict in verdict_by_row.items() if verdict is Verdict.INCONCLUSIVE} <= CLAIMED_ROWS


_KNOWN_COMPONENTS = {"@method", "@authority", "@path", "@query"}


class Modest(Coded):
    """An agent that knows fields and four parts of the request, each by its name alone; the rest is unknown to it."""

    def result(self, judged: judgement.Judgement, message: Message, *, explain: bool) -> dict[str, Any]:
        """Refuse what covers anything else, and show no base of it."""
        components = () if judged.signature is None else judged.signature.coverage.components
        if all(
            not one.parameters and (not one.name.startswith("@") or one.name in _KNOWN_COMPONENTS) for one in components
        ):
            return super().result(judged, message, explain=explain)
        fault = Fault(Code.UNSUPPORTED_COMPONENT, "unknown component")
        refusal = replace(judged, is_valid=False if judged.is_valid is not None else None, faults=(fault,), base=None)
        return super().result(refusal, message, explain=explain)


@pytest.mark.parametrize("check", ["vectors_are_judged", "explanations_say_pass_or_fail"])
async def test_an_agent_may_know_fewer_components(check: str) -> None:
    """Vectors of what it does not know fail no row: neither by their verdict nor by their base, nor by its code."""
    verdict_by_row = await run_check(check, Agent(look=Modest()), bind_codes("report.problems.code"))
    assert Verdict.FAIL not in verdict_by_row.values(), verdict_by_row


async def test_the_base_of_what_an_agent_takes_is_judged() -> None:
    """A verifier of a component's parameter shows the line that it verified."""

    class Hidden(Foreign):
        def result(self, judged: judgement.Judgement, message: Message, *, explain: bool) -> dict[str, Any]:
            verdict_by_row = super().result(judged, message, explain=explain)
            components = () if judged.signature is None else judged.signature.coverage.components
            if explain and any(one.parameters for one in components):
                verdict_by_row["report"]["canonical"] = []
            return verdict_by_row

    verdict_by_row = await run_check("vectors_are_judged", Agent(look=Hidden()), FOREIGN)
    assert find_broken_rows(verdict_by_row) == {"AGENT-EXPLAIN-02"}


class Unasked(Look):
    """An agent that knows no policy of the caller's, and tells each fault by a code."""

    def request(self, request_members: Mapping[str, Any]) -> Mapping[str, Any]:
        """Read over the word that bodies need no digest."""
        return {name: value for name, value in request_members.items() if name != "require_content_digest"}


async def test_codes_of_a_policy_that_an_agent_does_not_know_fail_nobody() -> None:
    """It reports one fault more than the caller asked about; a code that is wrong without a policy is reported."""
    binding = (
        FOREIGN + '[agent]\ncodes_at = "error_codes"\n[agent.error_codes]\nempty_components = "empty_components"\n'
    )
    assert find_broken_rows(await run_check("vectors_are_judged", Agent(look=Unasked()), binding)) == set()
    renaming_agent = Agent(at(VERIFY, says(error_codes=["another_fault"])), look=Unasked())
    assert "AGENT-VERIFY-04" in find_broken_rows(await run_check("vectors_are_judged", renaming_agent, binding))


def _take_expires_for_age(call: Call, reply: Reply) -> Reply:
    """Take a signature with an expires and no created for young."""
    has_age_limit = call.path == VERIFY and b"max_age_seconds" in call.body
    is_accepted = has_age_limit and b"created=" not in call.body and b"expires=" in call.body
    return Reply(200, VALID(reply.document)) if is_accepted else reply


async def test_an_age_that_is_judged_by_expires_is_caught() -> None:
    """Only `created` shows the age of a signature."""
    verdict_by_row = await run_check("only_created_shows_the_age", Agent(_take_expires_for_age))
    assert find_broken_rows(verdict_by_row) == {"AGENT-VERIFY-11"}


def _expire_from_now(call: Call, reply: Reply) -> Reply:
    """Sign a request with an expires that begins at the call, whatever created is given."""
    if call.path != SIGN or reply.status != 200 or "created" not in call.members:
        return reply
    text = json.dumps(reply.document)
    early = f"created={call.members['created']};expires={int(time.time()) + 300}"
    return Reply(200, json.loads(re.sub(r"created=[0-9]+", early, text)))


async def test_a_demo_that_expires_before_it_begins_is_caught() -> None:
    """The lifetime of a demo signature begins at the given created."""
    verdict_by_row = await run_check("demo_requests_are_signed", Agent(_expire_from_now))
    assert find_broken_rows(verdict_by_row) == {"AGENT-SIGN-05"}


@pytest.mark.parametrize(("skew", "messages"), [(0, 2), (1, 2), (9, 2), (10, 4), (60, 4)])
async def test_a_skew_that_a_call_may_outlast_is_not_asked(skew: int, messages: int) -> None:
    """What holds for less than five seconds is not sent; what is beyond the skew always is."""
    agent = Agent()
    await run_check("clocks_may_differ_by_the_skew", agent, PROFILE + f"[agent]\nskew = {skew}\n")
    assert messages == sum(call.path == VERIFY for call in agent.calls)
