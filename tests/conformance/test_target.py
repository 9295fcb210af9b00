"""The target profile."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.target import REFERENCE_RAIL, ProfileError, Secret, parse


def test_reference_bindings_apply_only_where_asked_for() -> None:
    """A target that does not say it keeps the reference's names is bound by what its file sets and nothing else."""
    ours = parse('[target]\ndefaults = "reference"\n[rail]\nchallenge_ttl = 60')
    assert ours.rail_bindings == REFERENCE_RAIL.model_copy(update={"challenge_ttl": 60})
    theirs = parse("[rail]\nchallenge_ttl = 60")
    assert theirs.rail_bindings.challenge_ttl == 60
    assert theirs.rail_bindings.services is None
    assert theirs.service_word is None


def test_every_value_that_is_not_a_default_is_told() -> None:
    """The report can print what the verdict rests on."""
    profile = parse('[target]\nname = "theirs"\n[rail]\nscheme = "exact-weld"\n[budgets]\nrequest = 30.0')
    assert dict(profile.non_defaults()) == {"target.name": "theirs", "rail.scheme": "exact-weld"}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("version = 2", "version"),
        ("[claims]\nsurfaces = ['rial']", "claims"),
        ("[rail]\nrecept_at = 'body:x'", "rail.recept_at"),
        ("[chains.algorand]\nalgod = 'x'\ntoken = { env = 'A', file = 'b' }", "chains.algorand.token"),
        ("[[xfail]]\nid = 'RAIL-402-01'", "xfail.0"),
        ("not toml", "not TOML"),
    ],
)
def test_a_wrong_profile_names_the_key(text: str, names: str) -> None:
    """A fault in the file is one line that says where."""
    with pytest.raises(ProfileError, match=names):
        parse(text)


def test_secrets_come_by_reference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A secret is read from its variable or file, and a missing one is named without its value."""
    file = tmp_path / "token"
    file.write_text("s3cret\n")
    assert Secret(file=file).read() == "s3cret"
    monkeypatch.setenv("THEIR_TOKEN", "t0ken")
    assert Secret(env="THEIR_TOKEN").read() == "t0ken"
    monkeypatch.delenv("THEIR_TOKEN")
    with pytest.raises(ProfileError, match="THEIR_TOKEN"):
        Secret(env="THEIR_TOKEN").read()
