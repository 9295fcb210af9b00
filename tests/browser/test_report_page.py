"""The page of a run in a real browser: read, filtered, searched, linked to and tabbed through, wide and narrow."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from axe_playwright_python.async_playwright import Axe  # type: ignore[import-untyped]
from playwright.async_api import Browser, Page

from conformance.outcome import Verdict
from conformance.report import formats, matrix
from conformance.report.summary import summarise
from tests.browser.keyboard import Keyboard
from tests.conformance.report.run_builder import every_verdict

pytestmark = pytest.mark.asyncio(loop_scope="session")

SIZES: dict[str, Any] = {"narrow": {"width": 390, "height": 844}, "wide": {"width": 1280, "height": 900}}
ROWS = ".rows > li:visible"


class Reader:
    """A reader with the report's file open in a browser."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self.address = address
        self.complaints: list[str] = []
        self.requested: list[str] = []
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requested.append(request.url.partition("#")[0]))

    async def open(self, anchor: str = "") -> None:
        """Open the page again, at an anchor."""
        await self.page.goto("about:blank")
        await self.page.goto(self.address + anchor)

    async def list_shown_rows(self) -> list[str]:
        """Return the ids of the rows that the list shows."""
        return await self.page.locator(f"{ROWS} > details > summary > code").all_inner_texts()

    async def sees(self, row: str) -> None:
        """Wait until a row of the list is unfolded and its body in sight.

        A browser tells the page of a new fragment in a task of its own: a click has ended before.
        """
        await self.page.wait_for_function(
            "id => { const body = document.getElementById(id);"
            " const top = body.getBoundingClientRect().top;"
            " return body.checkVisibility() && 0 <= top && top < innerHeight }",
            arg=row,
        )


@pytest_asyncio.fixture(loop_scope="session", params=SIZES)
async def reader(browser: Browser, tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Reader]:
    """A reader of a run that has every verdict, on a phone and at a desk."""
    (report_file,) = formats.write(every_verdict(), tmp_path, ["html"])
    context = await browser.new_context(viewport=SIZES[request.param], reduced_motion="reduce")
    report_reader = Reader(await context.new_page(), report_file.as_uri())
    await report_reader.open()
    yield report_reader
    await context.close()
    assert report_reader.complaints == []
    assert {one for one in report_reader.requested if one != "about:blank"} <= {report_file.as_uri()}


@pytest.mark.parametrize("reader", ["narrow"], indirect=True)
async def test_axe_finds_nothing_and_nothing_scrolls_sideways(reader: Reader) -> None:
    """Folded and unfolded, light and dark, axe has nothing to say and the page is as wide as its window."""
    await sees_no_fault(reader)


@pytest.mark.slow
@pytest.mark.parametrize("reader", ["wide"], indirect=True)
async def test_axe_finds_nothing_at_a_desk(reader: Reader) -> None:
    """The same in a wide window."""
    await sees_no_fault(reader)


async def sees_no_fault(reader: Reader) -> None:
    """Hold that axe finds nothing and that nothing scrolls sideways."""
    for is_unfolded in (False, True):
        for scheme in ("light", "dark"):
            await reader.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
            violations = (await Axe().run(reader.page)).response["violations"]
            assert [(scheme, one["id"], at["html"]) for one in violations for at in one["nodes"]] == []
            width = await reader.page.evaluate("document.documentElement.scrollWidth")
            assert (is_unfolded, width) == (is_unfolded, await reader.page.evaluate("innerWidth"))
        await reader.page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")


async def test_the_verdict_is_read_first_then_what_needs_attention(reader: Reader) -> None:
    """Headings in their order: the verdict, the causes, the list, what it rests on; the profile's values are folded."""
    heads = await reader.page.locator("h1, h2").all_inner_texts()
    assert heads[0].startswith("Fault in the suite")
    assert heads[1:] == [
        "What needs attention",
        "Every requirement",
        "What the verdict rests on",
        "Slowest checks",
    ]
    causes = await reader.page.locator(".cause h3").all_inner_texts()
    assert len(causes) == 5
    assert not await reader.page.get_by_text("rail.scheme", exact=True).is_visible()


def count_rows(verdict: Verdict | None = None) -> int:
    """Return how many rows the report has, or how many of them have a verdict."""
    return sum(verdict in {None, row.verdict} for row in summarise(every_verdict()).rows)


async def test_the_list_is_filtered_by_each_property(reader: Reader) -> None:
    """Verdict, surface, level and lane leave the rows that have all that was chosen; the count says how many."""
    page = reader.page
    rows = count_rows()
    # Rows that do not apply are hidden until they are asked for.
    assert len(await reader.list_shown_rows()) == rows - count_rows(Verdict.NOT_APPLICABLE) < rows
    await page.click("text=Show all")
    assert len(await reader.list_shown_rows()) == rows
    await page.select_option("[name=verdict]", "fail")
    assert await reader.list_shown_rows() == ["RAIL-402-01", "RAIL-402-02"]
    assert await page.inner_text("output") == f"2 of {rows}"
    await page.select_option("[name=verdict]", "")
    await page.select_option("[name=surface]", "gateway")
    assert {one.partition("-")[0] for one in await reader.list_shown_rows()} == {"GW"}
    await page.select_option("[name=level]", "SHOULD")
    await page.select_option("[name=surface]", "rail")
    shoulds = await reader.list_shown_rows()
    assert 0 < len(shoulds) < 20
    await page.click("text=Show all")
    await page.select_option("[name=lane]", "algorand")
    on_lane = await reader.list_shown_rows()
    assert {"RAIL-402-03", "RAIL-WELD-02"} <= set(on_lane)
    assert len(on_lane) < 20
    await page.click("text=Show all")
    assert len(await reader.list_shown_rows()) == rows


async def test_the_legend_shows_a_verdicts_rows(reader: Reader) -> None:
    """A count beside the bar leads to its rows."""
    await reader.page.click(".legend >> text=inconclusive")
    assert await reader.list_shown_rows() == ["RAIL-WELD-02"]


async def test_the_search_finds_ids_words_and_findings(reader: Reader) -> None:
    """All words must be there, in whatever of the row; nothing found is said."""
    page = reader.page
    for words, row_ids in (
        ("rail-402-07", ["RAIL-402-07"]),
        ("USUAL spelling", ["RAIL-402-07"]),
        ("unpaid_call accepts add", ["RAIL-402-02"]),
        ("division", ["RAIL-WELD-03"]),
        ("no such words anywhere", []),
    ):
        await page.fill("[name=text]", words)
        assert await reader.list_shown_rows() == row_ids, words
    assert await page.get_by_text("No requirement matches").is_visible()
    assert await page.locator(".surface:visible").count() == 0


async def test_what_a_search_leaves_is_in_sight(reader: Reader) -> None:
    """Also for who searches from far down the list."""
    await reader.open("#RAIL-SVC-06")
    await reader.page.evaluate("document.querySelector('[name=text]').focus({preventScroll: true})")
    await reader.page.evaluate("document.activeElement.value = 'RAIL-402-01'")
    await reader.page.evaluate("document.activeElement.dispatchEvent(new Event('input', {bubbles: true}))")
    rows = reader.page.locator(ROWS)
    at = await rows.bounding_box()
    assert at is not None
    assert 0 <= at["y"] < await reader.page.evaluate("innerHeight")


async def test_a_link_to_a_row_opens_it(reader: Reader) -> None:
    """From outside, from the causes, and where the list hides it."""
    await reader.open("#RAIL-A2A-01")
    await reader.sees("RAIL-A2A-01")
    await reader.page.click('.cause a[href="#RAIL-402-07"]')
    await reader.sees("RAIL-402-07")
    await reader.page.fill("[name=text]", "RAIL-402-02")
    await reader.page.click('.cause a[href="#RAIL-WELD-03"]')
    await reader.sees("RAIL-WELD-03")
    await reader.page.click('.cause a[href^="#exchange-"]')
    await reader.page.get_by_text("curl -sS").first.wait_for(state="visible")


async def test_a_link_to_a_row_opens_it_without_script(reader: Reader, browser: Browser) -> None:
    """Who runs no script has every row, and links that open them."""
    context = await browser.new_context(java_script_enabled=False)
    still = Reader(await context.new_page(), reader.address)
    await still.open("#RAIL-402-01")
    await still.sees("RAIL-402-01")
    assert not await still.page.locator("form").is_visible()
    assert len(await still.list_shown_rows()) == count_rows()
    await context.close()


async def test_the_keyboard_reaches_everything(reader: Reader) -> None:
    """Tab comes by the findings, each filter and a row; Enter unfolds it; nothing that can be clicked is left out."""
    page, tree = reader.page, await reader.page.context.new_cdp_session(reader.page)
    keyboard = Keyboard(page, tree)
    await keyboard.to("link", "Skip to what needs attention")
    await keyboard.to("link", "RAIL-402-01")
    await keyboard.to("searchbox", "Search")
    await page.keyboard.type("402-07")
    for name in ("Verdict", "Surface", "Level", "Lane"):
        await keyboard.to("combobox", name)
    await keyboard.to("button", "Show all")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await reader.sees("RAIL-402-07")
    unreached_elements = await page.evaluate(
        "[...document.querySelectorAll('a[href], button, input, select, summary, pre')]"
        ".filter(one => one.checkVisibility() && one.tabIndex < 0).map(one => one.outerHTML)"
    )
    assert unreached_elements == []


async def test_print_leaves_out_what_paper_cannot_do(reader: Reader) -> None:
    """No navigation and no filters on paper; breaches are unfolded."""
    await reader.page.emulate_media(media="print")
    await reader.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert not await reader.page.locator("nav").is_visible()
    assert not await reader.page.locator("form").is_visible()
    assert await reader.page.locator("#RAIL-402-01").is_visible()


async def test_the_page_of_many_runs_has_no_fault(browser: Browser, tmp_path: Path) -> None:
    """Runs side by side scroll within their own frame, and axe has nothing to say."""
    page_file = tmp_path / "matrix.html"
    page_file.write_bytes(matrix.html(matrix.matrix([summarise(every_verdict())] * 6, "surface")))
    for size in SIZES.values():
        context = await browser.new_context(viewport=size)
        page = await context.new_page()
        await page.goto(page_file.as_uri())
        violations = (await Axe().run(page)).response["violations"]
        assert [(one["id"], at["html"]) for one in violations for at in one["nodes"]] == []
        assert await page.evaluate("document.documentElement.scrollWidth === innerWidth")
        await context.close()
