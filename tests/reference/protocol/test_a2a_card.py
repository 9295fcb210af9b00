"""The card, and where it and the hint are (P-RA-01)."""

from __future__ import annotations

from reference.protocol.a2a_card import Skill, agent_card, hint


def test_a_card_is_a2a_0_3_and_nothing_else() -> None:
    """Required members of 0.3 (and what its prose asks for), none of 1.0."""
    skill = Skill("s", "S", "Does s.", ("t",), ("do s",))
    card = agent_card(
        name="A", description="d", url="http://a", version="1", organization="o", skills=[skill],
        extensions=[{"uri": "https://e", "required": False}],
    )  # fmt: skip

    required_members = {
        "capabilities",
        "defaultInputModes",
        "defaultOutputModes",
        "description",
        "name",
        "protocolVersion",
    }
    assert required_members | {"skills", "url", "version", "preferredTransport"} <= set(card)
    assert (card["url"], card["preferredTransport"], card["protocolVersion"]) == ("http://a/a2a", "JSONRPC", "0.3.0")
    assert card["capabilities"]["extensions"] == [{"uri": "https://e", "required": False}]
    assert card["skills"] == [{"id": "s", "name": "S", "description": "Does s.", "tags": ["t"], "examples": ["do s"]}]
    assert {"supportedInterfaces", "securityRequirements"}.isdisjoint(card)


def test_the_hint_points_to_post_and_to_the_card() -> None:
    """With whole addresses."""
    hint_body = hint("http://a")

    assert (hint_body["method"], hint_body["url"], hint_body["card"]) == (
        "POST",
        "http://a/a2a",
        "http://a/.well-known/agent-card.json",
    )
