"""A lane is a folder and one line: no other file of the reference, the suite or the stack names a lane."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

from conformance.vocabulary.lanes.registry import FACTS

ROOT = Path(__file__).parents[1]
ROOMS = ("reference", "conformance", "localnet")
# Code and pages; data (vectors, the ledger, kill lists, pins of containers and packages) is not asked.
KINDS = frozenset({".py", ".j2", ".html", ".js", ".css", ".cjs"})
LANES = tuple(FACTS)
REGISTRIES = ("conformance/vocabulary/lanes", "localnet/lanes", "reference/lanes")
# What a lane and its chain are called in code and prose; `base` alone is an English word, so it counts as a text of
# its own, as a proper name, and with a network's other half.
NAMES = re.compile(
    r"[Aa]lgorand|ALGORAND|[Aa]lgod|[Ss]olana|SOLANA|\bsvm|[Ll]amport|[Ss]urfpool|[Aa]nvil|eip155|\b[Ee]vm|EVM"
    r"|(?<![/.>])(?<!: )(?<!> )(?<!import )\bBase\b(?! *[|,)\]=:(])"
    r"|[bB]ase[_ -](?:sepolia|mainnet|Sepolia)|[\"']base[\"']|lanes\.base\b"
    r"|Base(?:Chain|Lane|Payer|Node)\b" + "".join(rf"|\b(?i:{lane})\b" for lane in LANES if lane != "base")
)
# Files that name a lane all the same, by pattern, and why. The list may shrink, never grow.
ALLOWED_FILES: dict[str, str] = {
    "*/lanes/registry.py": "the one line",
    "conformance/target/*.py": "what docs/profile.md tells operators is taken from these docstrings",
    "conformance/cli/*.py": "help and faults that name a network as an example",
    "conformance/*/profile_draft.py": "a draft with a network as an example",
    "conformance/extras.py": "the libraries that an extra brings, by its name; a lane's extra has the lane's",
    "conformance/oracles/*.py": "addresses, ids and tokens by family of chains, as specification 1.2 and 5.5 have them",
    "conformance/first_look/*.py": "x402 as others publish it, whose chains are not this suite's lanes",
    "conformance/selftest/observations/*.py": "what of a look of the reference can be seen",
    "conformance/pages/qr.py": "forms of QR codes by scheme (3.5)",
    "conformance/surfaces/payer/played_checkout.py": "forms of QR codes by scheme (3.5)",
    "conformance/checks/payer/links.py": "the code of one scheme has no place for a memo (3.5)",
    "conformance/vectors/judges/challenges.py": "vectors name CAIP-2 namespaces",
    "conformance/vocabulary/networks.py": "a network that no lane serves, in the namespace of one",
    "conformance/surfaces/agent/answer_reader.py": "a signature base",
    "conformance/surfaces/gateway/*.py": "QR codes name a chain id; a reference in one finds a payment",
    "conformance/attacks/replay_changes.py": "a member that names another lane",
    "conformance/discovery/rail.py": "requests of the compliance service on two chains",
    "conformance/checks/rail/document_members.py": "the words of the catalogs by CAIP-2 namespace (5.10)",
    "conformance/checks/rail/refusal_codes.py": "proofs by CAIP-2 namespace (5.6)",
    "conformance/checks/webhooks/event_body.py": "the advice and the text of the row on payers who are not the owner",
    "conformance/checks/gateway/*.py": "rows on payments whose ways are a lane's own, and near misses of network keys",
    "conformance/checks/rail/a2a_payments.py": "one row of one lane beside those of all",
    "conformance/checks/rail/malformed_payments.py": "a body with a network that is not a key",
    "conformance/checks/shared/network_and_amount.py": "advice with a network as an example",
    "conformance/report/replay_line.py": "the option --algorand-mode",
    "localnet/__main__.py": "the option --algorand-mode",
    "reference/protocol/*.py": "pure rules by family of networks, which are the specification's own terms",
    "reference/*/settings.py": "WP_EVM_CONFIRMATIONS, WP_EVM_SUFFIX_BIND and WP_SOLANA_COMMITMENT (9)",
    "reference/*/runtime.py": "reads those settings",
    "reference/gateway/checkout/link_settlement.py": "reads one of them",
    "reference/variants/*": "a broken or disguised variant is of the lane that it breaks",
}


def of_a_lane(path: Path) -> bool:
    """Return whether a file is a lane's own: a folder on its way, or itself, has the lane's name."""
    return any(part in LANES for part in (*path.parts[:-1], path.stem))


def list_naming_files() -> Iterator[tuple[str, int]]:
    """Yield each file that names a lane and is no lane's own, with how many of its lines do."""
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*")):
            place = path.relative_to(ROOT)
            if path.suffix not in KINDS or of_a_lane(place):
                continue
            lines = sum(NAMES.search(line) is not None for line in path.read_text("utf-8").splitlines())
            if lines:
                yield place.as_posix(), lines


NAMING_FILES = dict(list_naming_files())


def test_no_other_file_names_a_lane() -> None:
    """A new place that has to know a lane belongs into its folder, or is reached through its descriptor."""
    assert [place for place in NAMING_FILES if not any(fnmatch(place, pattern) for pattern in ALLOWED_FILES)] == []


@pytest.mark.parametrize("folder", REGISTRIES)
def test_a_lane_is_one_line_of_a_registry(folder: str) -> None:
    """Each side's registry names each lane once, in a line of its own and in one order."""
    lines = (ROOT / folder / "registry.py").read_text("utf-8").splitlines()
    assert [line.strip(' ",') for line in lines if any(re.search(rf"\b{lane}\b", line) for lane in LANES)] == [*LANES]


@pytest.mark.parametrize("pattern", ALLOWED_FILES)
def test_nothing_is_allowed_that_is_not_there(pattern: str) -> None:
    """An entry that is not needed any more is taken away."""
    assert any(fnmatch(place, pattern) for place in NAMING_FILES)


@pytest.mark.parametrize(
    "line",
    ['if lane == "base":', "NETWORKS['solana_mainnet']", "from conformance.lanes.base import x", "as Base names it"],
)
def test_a_lane_is_seen_however_it_is_named(line: str) -> None:
    """The pattern has no hole for the English word."""
    assert NAMES.search(line)


@pytest.mark.parametrize(
    "line", ["class Base(NamedTuple):", "base: Base | None = None", "base64.b64encode", "base_url"]
)
def test_the_english_word_is_no_lane(line: str) -> None:
    """A signature base, a base class."""
    assert NAMES.search(line) is None
