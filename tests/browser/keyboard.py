"""A keyboard and what a screen reader says: nothing is clicked, and focus is identified by role and name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from playwright.async_api import CDPSession, Page

_MOST_TABS = 120
_FOCUS_SCRIPT = "document.activeElement === document.body ? document : document.activeElement"


@dataclass(frozen=True, slots=True)
class Focus:
    """What has the focus, as the accessibility tree tells it."""

    role: str
    name: str
    value: str


class Keyboard:
    """A user with only a keyboard."""

    def __init__(self, page: Page, tree: CDPSession) -> None:
        self.page = page
        self._tree = tree

    async def focus(self) -> Focus:
        """Return what has the focus: the page itself when nothing in it has, nothing when that is elsewhere."""
        evaluation = await self._tree.send("Runtime.evaluate", {"expression": _FOCUS_SCRIPT})
        place = {"objectId": evaluation["result"]["objectId"], "fetchRelatives": False}
        (node,) = (await self._tree.send("Accessibility.getPartialAXTree", place))["nodes"]
        focus_node = node if not node["ignored"] and _is_focused(node) else {}
        return Focus(*(str(focus_node.get(name, {}).get("value", "")) for name in ("role", "name", "value")))

    async def to(self, role: str, name: str) -> Focus:
        """Press Tab until something of a role whose name begins so has the focus."""
        visited_names = []
        for _ in range(_MOST_TABS):
            now = await self.focus()
            if now.role == role and now.name.startswith(name):
                return now
            visited_names.append(f"{now.role} {now.name!r}")
            await self.page.keyboard.press("Tab")
        raise AssertionError(f"no {role} {name!r} is reached by Tab: {', '.join(dict.fromkeys(visited_names))}")

    async def write(self, name: str, text: str) -> None:
        """Write into a text field."""
        await self.to("textbox", name)
        await self.page.keyboard.press("Control+A")
        await self.page.keyboard.type(text)

    async def tick(self, name: str) -> None:
        """Turn a box over."""
        await self.to("checkbox", name)
        await self.page.keyboard.press("Space")

    async def enter(self, role: str = "", name: str = "") -> None:
        """Press Enter, on something or where one is, and wait for the page that comes."""
        if role:
            await self.to(role, name)
        async with self.page.expect_navigation():
            await self.page.keyboard.press("Enter")
        await self.wait_until_drawn()

    async def wait_until_drawn(self) -> None:
        """Wait until the page that came is drawn: what has the focus from the start gets it then, after the load."""
        await self.page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def _is_focused(node: dict[str, Any]) -> bool:
    return any(one["name"] == "focused" and one["value"].get("value") is True for one in node.get("properties", ()))
