"""The kit of HTML pages: what holds for every page, whatever it shows."""

import hashlib
import re
from base64 import b64encode

import pytest
from markupsafe import Markup

from gitops_dsf.show.pages import kit
from gitops_dsf.show.pages.kit import Fact

HOSTILE = """<img src=x onerror="alert(1)">' \"\x1b[31m\n::add-mask::x\u202e"""


def backtest(**values: object) -> str:
    """A page of the simplest template."""
    shown: dict[str, object] = {
        "verb": "backtest",
        "title": "title",
        "lead": "lead",
        "facts": (),
        "index": (),
        "index_note": "",
        "placements": (),
        "estimates": (),
        "orders": (),
        "unknown": (),
    }
    return kit.render("backtest.html", **(shown | values))


def test_every_value_is_escaped_and_has_no_control_characters() -> None:
    page = backtest(
        title=HOSTILE,
        lead=HOSTILE,
        facts=(Fact(HOSTILE, HOSTILE),),
        unknown=[HOSTILE],
        estimates=[HOSTILE],
        orders=[HOSTILE],
    )
    assert "<img" not in page
    assert page.count("&lt;img src=x onerror=&#34;alert(1)&#34;&gt;") == 8
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "\\x1b[31m\\n" in page


def test_html_of_the_kit_itself_is_not_escaped_again() -> None:
    """The healthy twin of the test above."""
    assert "<p>Kept</p>\n" in backtest(lead=Markup("<p>Kept</p>\n"))


@pytest.mark.parametrize(
    ("element", "directive"), [("style", "style-src"), ("script", "script-src")]
)
def test_the_policy_allows_the_style_and_the_script_of_the_page_alone(
    element: str, directive: str
) -> None:
    page = backtest()
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    (content,) = re.findall(rf"<{element}>(.*?)</{element}>", page, re.DOTALL)
    digest = b64encode(hashlib.sha256(content.encode()).digest()).decode()
    assert f"{directive} 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy


def test_a_name_that_a_template_does_not_get_is_an_error_and_no_hole_in_the_page() -> None:
    with pytest.raises(Exception, match="'title' is undefined"):
        kit.render("backtest.html", verb="backtest")
