"""The picture of the architecture: current, and drawn only where everything fits."""

import re
from xml.etree import ElementTree as ET

import pytest

from tools.architecture import IMAGES, SOURCE, THEMES, DrawingError, drawing, pictures, svg
from tools.release import ROOT

TEXT = SOURCE.read_text("utf-8")
LIGHT = THEMES["architecture.svg"]


def test_the_pictures_are_those_of_the_description() -> None:
    drawn = pictures()
    assert set(drawn) == {"architecture.svg", "architecture-dark.svg"}
    for name, text in drawn.items():
        assert (IMAGES / name).read_text("utf-8") == text, "run python -m tools.architecture"


def test_the_readme_and_the_concepts_show_it() -> None:
    for page, path in (("README.md", "docs/images"), ("docs/start/concepts.md", "../images")):
        assert f"]({path}/architecture.svg)" in (ROOT / page).read_text("utf-8")


def test_folders_in_the_picture_are_those_of_a_fleet_repository() -> None:
    folders = set(re.findall(r"\w+(?=/)", " ".join(drawing(TEXT).boxes["repository"].lines)))
    assert folders == {"scorers", "apps", "clusters"}
    assert folders <= {path.name for path in (ROOT / "repo-template").iterdir()}


def test_every_box_and_every_label_is_in_the_picture() -> None:
    root = ET.fromstring(pictures()["architecture.svg"])  # noqa: S314 - our own file
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    picture = drawing(TEXT)
    wanted = [group.title for group in picture.groups]
    for box in picture.boxes.values():
        wanted += [box.title, *box.lines]
    wanted += [arrow.label for arrow in picture.arrows]
    assert texts == wanted
    arrows = [element for element in root.iter() if element.get("class") == "arrow"]
    assert len(arrows) == len(picture.arrows)


def test_boxes_are_inside_of_a_group_and_beside_each_other() -> None:
    picture = drawing(TEXT)
    boxes = list(picture.boxes.values())
    for box in boxes:
        assert any(
            group.x < box.x
            and group.y < box.y
            and box.right < group.right
            and box.bottom < group.bottom
            for group in picture.groups
        ), box.title
    for number, box in enumerate(boxes):
        for other in boxes[number + 1 :]:
            assert (
                box.right <= other.x
                or other.right <= box.x
                or box.bottom <= other.y
                or other.bottom <= box.y
            ), (box.title, other.title)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("lines: [moves at a pace]", "lines: [moves at a pace that people set]", "needs a width"),
        ("lines: [moves at a pace]", "lines: [a, b, c]", "need a height of 92, not 66"),
        ("source: agent", "source: agnet", "names 'agnet', which is not a box"),
        ("source: agent", "source: application", "its boxes share no side"),
        ("at: 262", "at: 600", "its boxes share no side"),
        ("label: pulls", "lable: pulls", "unknown field `lable`"),
    ],
)
def test_what_cannot_be_drawn_says_why(old: str, new: str, problem: str) -> None:
    assert old in TEXT
    with pytest.raises(DrawingError, match=re.escape(problem)):
        svg(drawing(TEXT.replace(old, new)), LIGHT)


def test_an_arrow_begins_at_its_source_and_ends_at_its_target() -> None:
    """In all four directions."""
    text = svg(drawing(TEXT), LIGHT)
    paths = re.findall(r'class="arrow" d="M(\d+) (\d+)L(\d+) (\d+)"', text)
    assert paths[0] == ("296", "99", "384", "99"), "to the right"
    assert paths[1] == ("496", "148", "496", "238"), "down"
    assert paths[2] == ("384", "260", "256", "260"), "to the left"
    assert paths[4] == ("144", "368", "144", "304"), "up"
