"""A user of the dashboard with a browser: keeps cookies, reads pages, fills in forms."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import httpx
from selectolax.lexbor import LexborHTMLParser, LexborNode

from reference.gateway.runtime import new_admin_key
from tests.reference.gateway.gateway_stack import URL, Gateway

ROOT = "/dashboard"
SIGN_IN = f"{ROOT}/sign-in"
# The only script of the dashboard.
COPY_SCRIPT = f"{ROOT}/assets/copy.js"


@dataclass
class Shown:
    """A page that was answered."""

    answer: httpx.Response
    tree: LexborHTMLParser = field(init=False)

    def __post_init__(self) -> None:
        self.tree = LexborHTMLParser(self.answer.text)

    @property
    def status(self) -> int:
        """Its status."""
        return self.answer.status_code

    @property
    def title(self) -> str:
        """Its title."""
        return self.text("title")

    def text(self, selector: str) -> str:
        """Return the text of the first element that a selector finds, with single spaces."""
        found = self.tree.css_first(selector)
        assert found is not None, f"no {selector} in {self.answer.text}"
        return " ".join(found.text().split())

    def texts(self, selector: str) -> list[str]:
        """Return the texts of all elements that a selector finds."""
        return [" ".join(one.text().split()) for one in self.tree.css(selector)]

    def has(self, selector: str) -> bool:
        """Return whether a selector finds something."""
        return self.tree.css_first(selector) is not None

    def value(self, name: str) -> str:
        """Return what stands in a field."""
        found = self.tree.css_first(f'[name="{name}"]')
        assert found is not None, f"no field {name}"
        return str(found.attributes.get("value") or "")

    @property
    def scripts(self) -> list[str]:
        """The files of the scripts that it loads; it has no script between its tags, nor in an attribute."""
        found = self.tree.css("script")
        assert self.answer.text.count("<script") == len(found)
        assert [one.text() for one in found] == [""] * len(found)
        assert not self.has("[onclick], [onload], [onerror], [onfocus], a[href^='javascript:']")
        return [str(one.attributes["src"]).partition("?")[0] for one in found]

    @property
    def secret(self) -> str:
        """The secret that it shows."""
        return self.text("#secret")

    @property
    def fault(self) -> dict[str, str]:
        """What it says is wrong, by field; each stands beside its field, is tied to it and linked from the summary."""
        found = {}
        for one in self.tree.css("p.fault"):
            name = str(one.attributes["id"]).removesuffix("-fault")
            beside = self.tree.css_first(f'[aria-describedby~="{name}-fault"]')
            assert beside is not None
            assert beside.attributes.get("aria-invalid") == "true"
            assert self.tree.css_first(f'.summary a[href="#{name}"]') is not None
            assert self.tree.css_first(f'[id="{name}"]') is not None
            found[name] = one.text().removeprefix("Error: ").strip()
        return found

    def form(self, action: str = "") -> LexborNode:
        """Return the form with an action, or the only one beside that of signing out."""
        for one in self.tree.css("form"):
            given = str(one.attributes.get("action"))
            if given == action or (not action and not given.endswith("/sign-out")):
                return one
        raise AssertionError(f"no form {action}")


def fields(form: LexborNode) -> dict[str, Any]:
    """Return what a browser would send of a form as it stands."""
    sent: dict[str, Any] = {}
    for one in form.css("input"):
        name, value = one.attributes.get("name"), one.attributes.get("value") or ""
        kind = one.attributes.get("type")
        if name and kind != "file" and (kind not in {"radio", "checkbox"} or "checked" in one.attributes):
            sent[name] = value
    for one in form.css("textarea[name]"):
        sent[str(one.attributes["name"])] = one.text()
    for one in form.css("select"):
        chosen = one.css_first("option[selected]") or one.css_first("option")
        sent[str(one.attributes["name"])] = chosen.attributes["value"] if chosen is not None else ""
    return sent


class Administrator:
    """An administrator at the dashboard of one gateway, or of several workers of one."""

    def __init__(self, shop: Gateway) -> None:
        self.shop = shop
        self.http = httpx.AsyncClient(transport=shop.http._transport, base_url=URL)

    async def show(self, path: str, **options: Any) -> Shown:
        """Open a page."""
        return Shown(await self.http.get(path, **options))

    async def submit(self, page: Shown, action: str = "", **given: Any) -> Shown:
        """Submit a form of a page with some fields filled in."""
        form = page.form(action)
        sent = {**fields(form), **{name.replace("__", "-"): value for name, value in given.items()}}
        sent = {name: value for name, value in sent.items() if value is not None}
        where = str(form.attributes.get("action"))
        return Shown(await self.http.post(where, data=sent))

    async def sign_in(self, *scopes: str, key: str = "") -> Shown:
        """Sign in with a key of some scopes, or the first one, in a browser that knows nothing; return the answer."""
        if scopes:
            key = await new_admin_key(self.shop.settings, scopes)
        self.http.cookies.clear()
        return await self.submit(await self.show(SIGN_IN), key=key or self.shop.admin_key)

    async def make_tenant(self, name: str = "Shop") -> tuple[str, str]:
        """Create a tenant by its form and return its id and its first key."""
        made = await self.submit(await self.show(ROOT), name=name)
        assert made.status == 201, made.answer.text
        return made.texts(".facts dd")[0], made.secret
