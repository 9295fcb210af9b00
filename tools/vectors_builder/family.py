"""Drafts made vectors: each judged by the suite and by unrelated libraries, or the build stops."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from conformance.vectors.judges import Verdict
from tools.vectors_builder.drafting import Draft

FORMAT: Final = "weldproof-vectors/1"


class BuildFault(Exception):
    """A draft that is not what its author says, or on which libraries differ without a written reason."""


def _nothing_further(draft: Draft) -> Iterator[str]:
    del draft
    yield from ()


@dataclass(frozen=True)
class Family:
    """Vectors of one kind of thing.

    Attributes:
        name: Its folder's name, and the name that verifiers receive.
        prefix: What its vectors' ids begin with.
        title: What it is, in a few words.
        input: What a verifier is given, in a sentence a member.
        stages: Where vectors are refused, in the order of judging.
        reported_values: Values that a verifier must report if it says that a vector holds.
        files: Drafts by the name of the file they are written to.
        judge: The suite's own verdict on an input.
        second: Where unrelated libraries disagree with a draft, a sentence each.
        differences: Vectors by name (`stage/fault/variant`) on which such a library differs, with the reason.
    """

    name: str
    prefix: str
    title: str
    input: Mapping[str, str]
    stages: tuple[str, ...]
    files: Mapping[str, tuple[Callable[[], Iterable[Draft]], ...]]
    judge: Callable[[Mapping[str, Any]], Verdict]
    reported_values: tuple[str, ...] = ()
    second: Callable[[Draft], Iterable[str]] = _nothing_further
    differences: Mapping[str, str] = field(default_factory=dict)

    def drafts(self) -> Iterator[Draft]:
        """Yield every draft, in the order of files and places."""
        for parts in self.files.values():
            for part in parts:
                yield from part()

    def build(self) -> dict[str, bytes]:
        """Return every file by name.

        Raises:
            BuildFault: A draft is wrong.
        """
        unused_differences = set(self.differences)
        files = {}
        for name, parts in self.files.items():
            vectors = [self.vector(draft, unused_differences) for part in parts for draft in part()]
            document = {"format": FORMAT, "family": self.name, "vectors": vectors}
            files[name] = (json.dumps(document, ensure_ascii=True, indent=1) + "\n").encode("ascii")
        if unused_differences:
            unused_names = ", ".join(sorted(unused_differences))
            raise BuildFault(f"{self.name}: libraries do not differ, or there is no such vector: {unused_names}")
        return files

    def vector(self, draft: Draft, unused_differences: set[str]) -> dict[str, Any]:
        """Return a draft as a vector; what libraries differ on is taken off `unused_differences`.

        Raises:
            BuildFault: The suite judges it differently than meant, or another library does without a written reason.
        """
        self._judge(draft)
        for complaint in self.second(draft):
            if draft.name not in self.differences:
                raise BuildFault(f"{self.prefix}/{draft.name}: {complaint}")
            unused_differences.discard(draft.name)
        return {
            "id": f"{self.prefix}/{draft.name}",
            "kind": draft.kind,
            "requirements": list(draft.requirements),
            "input": dict(draft.input),
            "expected": {
                "valid": draft.valid,
                "stage": None if draft.valid else draft.stage,
                "codes": list(draft.expected_codes),
                "values": dict(draft.values),
            },
            "pinned": list(draft.pinned_members),
            "pins": list(draft.pins),
            "doors": list(draft.doors),
            "fault": draft.fault,
            "origin": draft.origin,
            "why": draft.why,
        }

    def _judge(self, draft: Draft) -> None:
        judgement = self.judge(draft.input)
        intended = (draft.valid, None if draft.valid else draft.stage, sorted(draft.expected_codes))
        actual = (judgement.valid, judgement.stage, sorted(judgement.codes))
        if intended != actual:
            raise BuildFault(f"{self.prefix}/{draft.name}: meant {intended}, the suite says {actual}")
        wrong = {name: value for name, value in draft.values.items() if judgement.values.get(name) != value}
        if wrong:
            computed_values = {name: judgement.values.get(name) for name in wrong}
            raise BuildFault(f"{self.prefix}/{draft.name}: meant {wrong}, the suite works out {computed_values}")
