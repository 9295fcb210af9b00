"""The project's texts are plain English: words that hide who acts are not added, and become fewer."""

from __future__ import annotations

import pytest

from tests.plain_english import counts, limits, parts


def test_no_folder_gains_a_word_of_the_private_language() -> None:
    """No folder has more of the words than recorded; a folder without a record may have none."""
    recorded_counts = limits()
    risen = {
        name: (recorded_counts.get(name, 0), count)
        for name, count in counts().items()
        if count > recorded_counts.get(name, 0)
    }
    assert risen == {}, "rewrite the new sentences, as (recorded, found) shows; the words are in tests/plain_english.py"


def test_a_count_that_fell_is_recorded() -> None:
    """The record is not higher than the count, so that what was rewritten stays so."""
    today_counts = counts()
    fallen_counts = {
        name: (limit, today_counts.get(name, 0))
        for name, limit in limits().items()
        if today_counts.get(name, 0) < limit
    }
    assert fallen_counts == {}, "run `python -m tests.plain_english`"


@pytest.mark.parametrize(
    ("suffix", "text", "read"),
    [
        (".py", '"""Nobody is told."""\nx = 1  # anew\ny = "somebody"\n', ["Nobody is told.", "# anew"]),
        (".md", "Told.\n```sh\ntold\n```\nAnew.\n", ["Told.\n\nAnew.\n"]),
        (".toml", 'name = "told"\n[[mutant]]\nrule = "nobody"\nalso = { A = "anew" }\n', ["nobody", "anew"]),
    ],
)
def test_only_what_people_read_is_counted(suffix: str, text: str, read: list[str]) -> None:
    """Docstrings, comments and sentences of code; Markdown outside fences; three texts of TOML."""
    assert list(parts(suffix, text)) == read
