"""Explain: the verdict of verify, with what there is to learn from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from reference.protocol.message_signatures import MessageRequest, MessageVerifyRequest, explain, verify

HandSigner = Callable[..., dict[str, Any]]

METHOD = '"@method": GET'


def explain_message(message: dict[str, Any], *, now: int = 1000) -> dict[str, Any]:
    result = explain(MessageRequest.model_validate(message), now=now)
    assert result["fix_notes"] == result["diagnosis"]
    assert all(isinstance(note, str) and note for note in result["fix_notes"])
    return result


def without_key(message: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in message.items() if name != "public_key_hex"}


@pytest.mark.parametrize("members", [{}, {"method": "PUT"}, {"body": b"x"}, {"parameters": ";expires=1"}])
def test_explain_repeats_verify(signed_by_hand: HandSigner, members: dict[str, Any]) -> None:
    """What verify says stands in explain unchanged (P-AG-08)."""
    message = signed_by_hand(**members)

    verify_result = verify(MessageVerifyRequest.model_validate(message), now=1000)

    assert verify_result == {name: value for name, value in explain_message(message).items() if name in verify_result}


def test_a_passing_message_needs_no_notes(signed_by_hand: HandSigner) -> None:
    """A message without a fault passes, and nothing is to be done."""
    result = explain_message(signed_by_hand())

    assert (result["verdict"], result["valid"], result["fix_notes"]) == ("pass", True, [])
    assert result["content_digest"] == {
        "present": False,
        "covered": False,
        "algorithm": None,
        "provided": None,
        "computed": "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
        "match": None,
    }


def test_a_failing_message_comes_with_notes_and_clauses(signed_by_hand: HandSigner) -> None:
    """Each fault has a note and a link to its clause."""
    result = explain_message(signed_by_hand(method="PUT", body=b"x"))

    assert (result["verdict"], result["valid"]) == ("fail", False)
    assert len(result["fix_notes"]) == 3  # advice on each fault, and that no single change explains the signature
    assert set(result["links"]) == {"rfc9421", "rfc9530", "content_digest_missing", "signature_mismatch"}


def test_without_a_key_the_verdict_is_unverified(signed_by_hand: HandSigner) -> None:
    """Without a key the base is there, the verdict is unverified, and a note asks for the key."""
    result = explain_message(without_key(signed_by_hand()))

    assert (result["verdict"], result["valid"], result["signature_valid"]) == ("unverified", None, None)
    assert result["checked"]["signature"] == "skipped"
    assert result["signature_base"] == f'{METHOD}\n"@signature-params": ("@method");created=1000'
    assert [note for note in result["fix_notes"] if "public_key_hex" in note]


def test_without_a_key_faults_are_still_listed(signed_by_hand: HandSigner) -> None:
    """What needs no key to be seen is listed, too."""
    result = explain_message(without_key(signed_by_hand(parameters=";expires=10")))

    assert (result["verdict"], result["error_codes"]) == ("unverified", ["expired"])


def test_a_query_inside_the_path_is_pointed_out(signed_by_hand: HandSigner) -> None:
    """The explanation names a query that the signer put into @path, and the result stays negative (P-AG-08)."""
    result = explain_message(signed_by_hand((METHOD, '"@path": /a?b=c'), path="/a?b=c"))

    assert (result["valid"], result["error_codes"]) == (False, ["signature_mismatch"])
    assert [note for note in result["fix_notes"] if "query inside @path" in note]


@pytest.mark.parametrize(
    ("lines", "members", "word"),
    [
        (('"@authority": Example.com:443',), {"authority": "Example.com:443"}, "@authority"),
        (('"@method": POST',), {"method": "post"}, "upper case"),
        (('"@method": post',), {"method": "POST"}, "lower case"),
    ],
)
def test_other_mistakes_are_pointed_out(
    signed_by_hand: HandSigner, lines: tuple[str, ...], members: dict[str, Any], word: str
) -> None:
    """A signature that holds over a common mistake names the mistake."""
    result = explain_message(signed_by_hand(lines, **members))

    assert result["valid"] is False
    assert [note for note in result["fix_notes"] if word in note]


def test_mistakes_are_not_guessed(signed_by_hand: HandSigner) -> None:
    """No mistake is named when the signature does not prove it."""
    notes = explain_message(signed_by_hand(('"@path": /other',), path="/a?b=c"))["fix_notes"]

    assert not [note for note in notes if "The signature holds" in note]
    assert [note for note in notes if "made one at a time" in note]


def test_created_and_expires_as_covered_names_pass_with_a_note(signed_by_hand: HandSigner) -> None:
    """Some signers cover created and expires by name; that is accepted and called non-standard (P-AG-07)."""
    result = explain_message(
        signed_by_hand((METHOD, '"created": 1000', '"expires": 2000'), ";created=1000;expires=2000")
    )

    assert (result["verdict"], result["valid"]) == ("pass", True)
    assert ["non-standard" in note for note in result["fix_notes"]] == [True, True]


def test_a_field_named_created_is_the_field(signed_by_hand: HandSigner) -> None:
    """When the message has a field of that name, the field is what is covered (P-AG-07)."""
    field = explain_message(signed_by_hand((METHOD, '"created": 5'), headers={"Created": "5"}))
    parameter = explain_message(signed_by_hand((METHOD, '"created": 1000'), headers={"Created": "5"}))

    assert (field["valid"], field["fix_notes"]) == (True, [])
    assert parameter["error_codes"] == ["signature_mismatch"]
