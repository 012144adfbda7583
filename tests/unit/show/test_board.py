"""The board of a fleet: bounded, the same for the same fleet, and without markup of others."""

from markdown_it import MarkdownIt
from msgspec import structs

from gitops_dsf.show.board import Board, board_text
from gitops_dsf.views.doctor.finding import DoctorFinding, State
from tests.support.fleetviews import fleet_view

HOSTILE = "|`x` <img src=x> [a](https://evil.example) @everyone ![b](c) **d**\n# e"


def board(**size: int | str) -> str:
    fleet = fleet_view(**size)
    return board_text(Board(overview=fleet.overview, findings=fleet.findings))


def test_errors_come_first_and_what_is_unknown_is_left_out() -> None:
    lines = board().splitlines()
    assert lines[:3] == [
        "# Fleet",
        "",
        (
            "- **error**: OCM does not reach eu-west-0; an application is decided for it<br>"
            "`kubectl --context hub describe managedcluster eu-west-0`"
        ),
    ]
    assert [line.partition(":")[0] for line in lines[2:5]] == [
        "- **error**",
        "- **warning**",
        "- **warning**",
    ]
    assert "Does Argo CD know the clusters?" not in board()


def test_a_fleet_of_any_size_has_room_and_says_what_has_none() -> None:
    text = board(clusters=20, scorers=3, applications=500, text="x" * 200)
    assert len(text.encode()) <= 100_000
    assert "more rows, for which there is no room" in text
    assert text.endswith("`gitops-dsf status -o html` shows more.\n")


def test_the_same_fleet_has_the_same_board() -> None:
    assert board() == board()


def test_a_healthy_fleet_is_well() -> None:
    fleet = fleet_view()
    ok = DoctorFinding(check="clock", state=State.OK, message="the clocks agree", fix=None)
    text = board_text(Board(overview=fleet.overview, findings=(ok,)))
    assert "**All is well**" in text


def test_text_of_others_is_no_markup() -> None:
    """As a forge renders it: GitHub's Markdown, with HTML."""
    fleet = fleet_view(text=HOSTILE)
    findings = [structs.replace(finding, fix=f"fix {HOSTILE}") for finding in fleet.findings]
    text = board_text(Board(overview=fleet.overview, findings=findings))
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    assert "<img" not in html
    assert "<a " not in html
    assert "<strong>d</strong>" not in html
    assert html.count("<h1>") == 1
    assert "@everyone" not in html.replace("<code>", "").partition("<table>")[2]
    assert "evil.example" in html
    rows = html.count("<tr>")
    plain = fleet_view()
    same = board_text(Board(overview=plain.overview, findings=plain.findings))
    assert rows == MarkdownIt().enable("table").render(same).count("<tr>"), "a name adds no row"
