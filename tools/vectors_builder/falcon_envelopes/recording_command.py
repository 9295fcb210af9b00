"""`python -m tools.vectors_builder.falcon_envelopes.recording_command`: draw the keys and signatures that are missing.

What is recorded stays as it is; what no vector asks for any more goes. The build then checks every one of them.
"""

from __future__ import annotations

from tools.vectors_builder.falcon_envelopes import FAMILY
from tools.vectors_builder.falcon_envelopes.edges import EDGES
from tools.vectors_builder.falcon_envelopes.making import SIGNER
from tools.vectors_builder.falcon_envelopes.recordings import Recorded
from tools.vectors_builder.family import Family


def record(family: Family, *recordings: Recorded) -> None:
    """Go through a family's drafts, draw what they ask for and write it down."""
    for recording in recordings:
        recording.recording = True
    for _ in family.drafts():
        pass
    for recording in recordings:
        recording.recording = False
        recording.save()


if __name__ == "__main__":
    record(FAMILY, SIGNER.keys, SIGNER.signatures, EDGES)
