"""What is needed and neither on this machine nor to be got."""

from __future__ import annotations


class Missing(Exception):
    """Something that is needed is not there; the text says what, and the line that installs it or gets round it."""

    def __init__(self, description: str, remedy: str) -> None:
        super().__init__(f"{description}\n  to do: {remedy}")
        self.what = description
        self.remedy = remedy
