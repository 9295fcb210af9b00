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
        node = self.tree.css_first(selector)
        assert node is not None, f"no {selector} in {self.answer.text}"
        return " ".join(node.text().split())

    def texts(self, selector: str) -> list[str]:
        """Return the texts of all elements that a selector finds."""
        return [" ".join(one.text().split()) for one in self.tree.css(selector)]

    def has(self, selector: str) -> bool:
        """Return whether a selector finds something."""
        return self.tree.css_first(selector) is not None

    def value(self, name: str) -> str:
        """Return what stands in a field."""
        node = self.tree.css_first(f'[name="{name}"]')
        assert node is not None, f"no field {name}"
        return str(node.attributes.get("value") or "")

    @property
    def scripts(self) -> list[str]:
        """The files of the scripts that it loads; it has no script between its tags, nor in an attribute."""
        node = self.tree.css("script")
        assert self.answer.text.count("<script") == len(node)
        assert [one.text() for one in node] == [""] * len(node)
        assert not self.has("[onclick], [onload], [onerror], [onfocus], a[href^='javascript:']")
        return [str(one.attributes["src"]).partition("?")[0] for one in node]

    @property
    def secret(self) -> str:
        """The secret that it shows."""
        return self.text("#secret")

    @property
    def fault(self) -> dict[str, str]:
        """What it says is wrong, by field; each stands beside its field, is tied to it and linked from the summary."""
        faults = {}
        for node in self.tree.css("p.fault"):
            name = str(node.attributes["id"]).removesuffix("-fault")
            beside = self.tree.css_first(f'[aria-describedby~="{name}-fault"]')
            assert beside is not None
            assert beside.attributes.get("aria-invalid") == "true"
            assert self.tree.css_first(f'.summary a[href="#{name}"]') is not None
            assert self.tree.css_first(f'[id="{name}"]') is not None
            faults[name] = node.text().removeprefix("Error: ").strip()
        return faults

    def form(self, action: str = "") -> LexborNode:
        """Return the form with an action, or the only one beside that of signing out."""
        for form_node in self.tree.css("form"):
            action_url = str(form_node.attributes.get("action"))
            if action_url == action or (not action and not action_url.endswith("/sign-out")):
                return form_node
        raise AssertionError(f"no form {action}")


def fields(form: LexborNode) -> dict[str, Any]:
    """Return what a browser would send of a form as it stands."""
    form_values: dict[str, Any] = {}
    for node in form.css("input"):
        name, value = node.attributes.get("name"), node.attributes.get("value") or ""
        kind = node.attributes.get("type")
        if name and kind != "file" and (kind not in {"radio", "checkbox"} or "checked" in node.attributes):
            form_values[name] = value
    for node in form.css("textarea[name]"):
        form_values[str(node.attributes["name"])] = node.text()
    for node in form.css("select"):
        option = node.css_first("option[selected]") or node.css_first("option")
        form_values[str(node.attributes["name"])] = option.attributes["value"] if option is not None else ""
    return form_values


class Administrator:
    """An administrator at the dashboard of one gateway, or of several workers of one."""

    def __init__(self, shop: Gateway) -> None:
        self.shop = shop
        self.http = httpx.AsyncClient(transport=shop.http._transport, base_url=URL)

    async def show(self, path: str, **options: Any) -> Shown:
        """Open a page."""
        return Shown(await self.http.get(path, **options))

    async def submit(self, page: Shown, action: str = "", **values: Any) -> Shown:
        """Submit a form of a page with some fields filled in."""
        form = page.form(action)
        form_values = {**fields(form), **{name.replace("__", "-"): value for name, value in values.items()}}
        form_values = {name: value for name, value in form_values.items() if value is not None}
        where = str(form.attributes.get("action"))
        return Shown(await self.http.post(where, data=form_values))

    async def sign_in(self, *scopes: str, key: str = "") -> Shown:
        """Sign in with a key of some scopes, or the first one, in a browser that knows nothing; return the answer."""
        if scopes:
            key = await new_admin_key(self.shop.settings, scopes)
        self.http.cookies.clear()
        return await self.submit(await self.show(SIGN_IN), key=key or self.shop.admin_key)

    async def make_tenant(self, name: str = "Shop") -> tuple[str, str]:
        """Create a tenant by its form and return its id and its first key."""
        answer = await self.submit(await self.show(ROOT), name=name)
        assert answer.status == 201, answer.answer.text
        return answer.texts(".facts dd")[0], answer.secret
