"""The lines of the protocol: what is sent, and which lines are answers."""

from __future__ import annotations

import json

import pytest

from conformance.vectors.runner.protocol import (
    LONGEST_LINE,
    PROTOCOL,
    Answer,
    Hello,
    Nonsense,
    encode_greeting,
    encode_question,
    parse_answer,
    parse_hello,
)


def test_what_is_sent_is_one_ascii_line_each() -> None:
    """The greeting names protocol and families; a question has number, family and input, and nothing else."""
    assert json.loads(encode_greeting(["receipts"])) == {"protocol": PROTOCOL, "families": ["receipts"]}
    line = encode_question(7, "canonical_json", {"text": "a\nb\u2028\ud800"})
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert line.isascii()
    assert json.loads(line) == {"n": 7, "family": "canonical_json", "input": {"text": "a\nb\u2028\ud800"}}


def test_a_greeting_tells_name_and_families() -> None:
    """Unknown members are left alone, a family named twice counts once."""
    line = b'{"verifier":"mine 1.2","families":["a","b","a"],"more":1}\n'
    assert parse_hello(line) == Hello("mine 1.2", ("a", "b"))


@pytest.mark.parametrize(
    "line",
    [
        b"ready\n",
        b"[]\n",
        b"null\n",
        b'{"families":[]}\n',
        b'{"verifier":"","families":[]}\n',
        b'{"verifier":"x"}\n',
        b'{"verifier":"x","families":"receipts"}\n',
        b'{"verifier":"x","families":[1]}\n',
        b'{"verifier":3,"families":[]}\n',
        b'{"verifier":"x","verifier":"y","families":[]}\n',
        b"\xff\n",
    ],
)
def test_another_line_is_no_greeting(line: bytes) -> None:
    """Neither the wrong members nor what is no JSON object."""
    with pytest.raises(Nonsense):
        parse_hello(line)


def test_an_answer_may_tell_much_or_little() -> None:
    """A verdict is enough; null counts as absent; unknown members are ignored."""
    assert parse_answer(b'{"n":3,"verdict":"valid"}\n', 3) == Answer("valid")
    line = b'{"n":3,"verdict":"invalid","codes":null,"stage":null,"values":null,"why":null,"x":[]}\r\n'
    assert parse_answer(line, 3) == Answer("invalid")
    full = b'{"n":3,"verdict":"invalid","codes":["c"],"stage":"s","values":{"v":1},"why":"so"}\n'
    assert parse_answer(full, 3) == Answer("invalid", ("c",), "s", {"v": 1}, "so")


@pytest.mark.parametrize(
    "line",
    [
        b"Warning: this library is old\n",
        b"\n",
        b'{"verdict":"valid"}\n',
        b'{"n":2,"verdict":"valid"}\n',
        b'{"n":"3","verdict":"valid"}\n',
        b'{"n":true,"verdict":"valid"}\n',
        b'{"n":3,"verdict":"valid"}{"n":4,"verdict":"valid"}\n',
        b'{"n":3,"n":3,"verdict":"valid"}\n',
        b'{"n":3,"verdict":"valid","values":{"x":NaN}}\n',
        b"[" * 100_000 + b"\n",
    ],
)
def test_a_line_for_another_question_is_out_of_step(line: bytes) -> None:
    """What does not bear the number of the open question says nothing about what the next line belongs to."""
    with pytest.raises(Nonsense) as error:
        parse_answer(line, 1 if b'"n":true' in line else 3)
    assert not error.value.in_step
    assert len(str(error.value)) < 400


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"verdict": True},
        {"verdict": "VALID"},
        {"verdict": ["valid"]},
        {"verdict": "invalid", "codes": "c"},
        {"verdict": "invalid", "codes": [1]},
        {"verdict": "invalid", "stage": 4},
        {"verdict": "valid", "values": []},
        {"verdict": "valid", "values": {"x": [1]}},
        {"verdict": "valid", "values": {"x": {}}},
        {"verdict": "valid", "why": {}},
    ],
)
def test_an_answer_of_another_form_is_nonsense_in_step(members: dict[str, object]) -> None:
    """It bears the number, so the next line belongs to the next question."""
    with pytest.raises(Nonsense) as error:
        parse_answer(json.dumps({"n": 3, **members}).encode(), 3)
    assert error.value.in_step


def test_its_own_words_are_kept_to_a_bound() -> None:
    """They are for people."""
    line = json.dumps({"n": 1, "verdict": "valid", "why": "w" * 100_000}).encode()
    assert len(parse_answer(line, 1).why or "") < 1_100


def test_lines_are_bounded() -> None:
    """A mebibyte is enough for every answer."""
    assert LONGEST_LINE == 1_048_576
