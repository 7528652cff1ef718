"""`slimg open` in a browser, by keyboard alone: search, explanation, what if, download, new rows."""

import re
import time

import pandas as pd
import pytest
from hostile import HOSTILE

from served import Served

FOCUSED = "document.activeElement"


@pytest.fixture(scope="module")
def server(fitted):
    served = Served(fitted)
    yield served
    code, _, errors = served.stop()
    assert (code, errors) == (0, "")


@pytest.fixture
def page(browser, server, tmp_path):
    browser.console.clear()
    browser.requests.clear()
    browser.call("Page.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    browser.call("Emulation.setDeviceMetricsOverride", width=1280, height=900, deviceScaleFactor=1, mobile=False)
    browser.call("Page.navigate", url=server.address)
    until(browser, "document.getElementById('rows') && document.getElementById('rows').children.length > 0")
    yield browser
    assert browser.console == []
    assert all(url.startswith((server.address, "blob:")) for url in browser.requests)


def holds(browser, code):
    try:
        return browser.run(f"!!({code})")
    except AssertionError as error:
        if "navigated" not in str(error):
            raise
        return False  # asked while the page was replaced by the next one


def until(browser, code):
    deadline = time.monotonic() + 30
    while not holds(browser, code):
        assert time.monotonic() < deadline, code
        time.sleep(0.02)


def tab_to(browser, code):
    """Press Tab until an expression about the focused element holds."""
    for _ in range(200):
        browser.press("Tab")
        if browser.run(code):
            return
    raise AssertionError(f"Tab does not lead to {code}")


def space(browser):
    key = {"key": " ", "code": "Space", "windowsVirtualKeyCode": 32}
    browser.call("Input.dispatchKeyEvent", type="keyDown", text=" ", **key)
    browser.call("Input.dispatchKeyEvent", type="keyUp", **key)


def explained(browser, name):
    """Search a node and take the first suggestion."""
    tab_to(browser, f"{FOCUSED}.id === 'search'")
    browser.type(name)
    until(browser, "!document.getElementById('suggestions').hidden")
    browser.press("ArrowDown")
    assert browser.run(f"document.getElementById({FOCUSED}.getAttribute('aria-activedescendant')).dataset.node").startswith(name)
    browser.press("Enter")
    until(browser, "!document.getElementById('node').hidden")


def number(text):
    return float(text.replace("−", "-"))


def test_search_explanation_what_if_and_download_by_keyboard(page, server, tmp_path):
    explained(page, "node-11")
    heading = page.run(f"{FOCUSED}.textContent")
    assert re.fullmatch(r"node-11: (red|<b>blue</b>)", heading), "a screen reader is led to the explanation"
    told = server.ask("node", id="node-11")[1]
    lines = "[...document.querySelectorAll('.parts [data-part]')]"
    shown = page.run(f"Object.fromEntries({lines}.map(e => [e.dataset.part, e.lastChild.textContent]))")
    assert number(shown.pop("score")) == pytest.approx(told["score"], abs=6e-4)
    assert sum(map(number, shown.values())) == pytest.approx(told["score"], abs=6e-4 * len(shown)), "the parts add up"

    tab_to(page, f"{FOCUSED}.type === 'checkbox'")
    near = page.run(f"{FOCUSED}.dataset.node")
    space(page)
    assert page.run(f"{FOCUSED}.checked")
    tab_to(page, f"{FOCUSED}.textContent === 'Compute again'")
    page.press("Enter")
    until(page, "document.querySelector('#result table')")
    found = server.ask("what-if", {"id": "node-11", "class": told["class"], "without": [[near, ""]]})[1]
    cells = page.run("[...document.querySelectorAll('#result tr[data-part=score] td')].map(e => e.textContent)")
    assert [number(cell) for cell in cells[:2]] == pytest.approx([found["before"]["score"], found["after"]["score"]], abs=6e-4)
    assert found["after"]["prediction"] in page.run("document.querySelector('#result p').textContent")

    tab_to(page, f"{FOCUSED}.id === 'text'")
    page.type("node-1")
    until(page, "document.getElementById('count').textContent === '1 to 10 of 10 nodes'")
    tab_to(page, f"{FOCUSED}.id === 'download'")
    page.press("Enter")
    file = tmp_path / "predictions.csv"
    deadline = time.monotonic() + 30
    while not file.exists() or not file.stat().st_size:
        assert time.monotonic() < deadline, "nothing was downloaded"
        page.run("1")
        time.sleep(0.02)
    assert list(pd.read_csv(file)["id"]) == [f"node-{k}" for k in range(10, 20)]


def test_a_path_that_leads_nowhere_is_told(page):
    answer = "const told = await found.json(); for (const part of told.parts || []) part.absent = 'there are none';"
    page.run("const real = window.fetch; window.fetch = async (...asked) => { const found = await real(...asked); "
             f"{answer} return new Response(JSON.stringify(told)); }};")  # fmt: skip
    explained(page, "node-11")
    shown = page.run("[...document.querySelectorAll('.parts summary')].map(e => e.firstChild.textContent)")
    assert shown and all(title.endswith(": there are none") for title in shown)


def test_names_from_files_stay_text_and_errors_are_sentences(page):
    explained(page, HOSTILE[:6])
    assert page.run("document.querySelector('#node h3').textContent").startswith(HOSTILE)
    assert page.run("document.images.length") == 0 and page.run("document.querySelectorAll('main b, main i').length") == 0
    page.run("document.getElementById('search').focus(); document.getElementById('search').select()")
    page.type("node-333")
    page.press("Enter")
    until(page, "document.querySelector('#told .wrong')")
    assert "did you mean 'node-33'" in page.run("document.getElementById('told').textContent")
    assert page.run("document.getElementById('node').hidden")
    page.console[:] = [line for line in page.console if "400" not in line]  # the browser notes the status of the answer


def test_new_rows_are_scored_and_a_value_is_changed(page, server):
    page.run("document.getElementById('nodes').focus()")
    page.call("Input.insertText", text="id,<i>colour</i>\nnew-1,x\nnew-2,y\n")
    tab_to(page, f"{FOCUSED}.textContent === 'Score'")
    page.press("Enter")
    until(page, "document.querySelector('#scored table')")
    rows = page.run("[...document.querySelectorAll('#scored tbody tr')].map(e => e.firstChild.textContent)")
    assert rows == ["new-1", "new-2"]
    page.press("Tab", shift=True)  # away from the button; the page's own order is kept
    page.run("document.getElementById('search').focus()")
    page.type("node-04")
    until(page, "!document.getElementById('suggestions').hidden")
    page.press("ArrowDown")
    page.press("Enter")
    until(page, "!document.getElementById('node').hidden")
    tab_to(page, f"{FOCUSED}.id === 'column'")
    page.press("ArrowDown")
    until(page, "document.getElementById('hint').textContent")
    present = page.run("document.getElementById('value').value")
    page.press("Tab")
    page.run("document.getElementById('value').select()")
    page.type("y" if present == "x" else "x")
    page.press("Enter")
    until(page, "document.querySelector('#result table')")
    change = {"values": [["<i>colour</i>", "y" if present == "x" else "x"]]}
    found = server.ask("what-if", {"id": "node-04", **change})[1]
    cell = page.run("document.querySelector('#result tr[data-part=score] td:nth-of-type(2)').textContent")
    assert number(cell) == pytest.approx(found["after"]["score"], abs=6e-4)


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_is_cut_off_every_field_has_a_name_and_the_finished_page_is_a_link_away(page, width):
    page.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600)
    page.run("document.getElementById('search').focus()")
    page.type("node-11")
    page.press("Enter")
    until(page, "!document.getElementById('node').hidden")
    assert page.run("document.documentElement.scrollWidth <= innerWidth")
    fields = "[...document.querySelectorAll('input, select, textarea, button')]"
    assert page.run(f"{fields}.filter(e => !(e.labels && e.labels.length) && !e.textContent && !e.ariaLabel).length") == 0
    page.run("document.querySelector('header a[href=\"report.html\"]').click()")
    until(page, "document.title === 'Predicting team – slimg' && document.readyState === 'complete'")
    assert page.run("document.querySelectorAll('#rows tr').length") > 0
