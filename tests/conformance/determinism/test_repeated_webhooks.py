"""A run of webhooks can be repeated."""

from __future__ import annotations

from pathlib import Path

from conformance import target
from tests.conformance.determinism.runs import outcome
from tests.stack import running_stack

_SELECTION = ("WH-DELIV-02", "WH-DELIV-07", "WH-SIG-04", "WH-BODY-12", "X-AMT-01", "GW-LINK-23")


async def test_a_run_of_webhooks_can_be_repeated(tmp_path: Path) -> None:
    """What several checks share is asked for alike, whichever of them comes first."""
    with running_stack(tmp_path, "--lane", "algorand") as ready:
        profile = target.load(Path(ready["profile"]))
        verdicts, templates = await outcome(profile, 8, seed=7, selection=_SELECTION)
        verdicts_again, templates_again = await outcome(profile, 1, seed=7, selection=_SELECTION)
    assert set(verdicts.values()) == {"pass"}
    assert verdicts == verdicts_again
    assert templates == templates_again
