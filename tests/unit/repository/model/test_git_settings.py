"""The repository of the fleet itself: its URL, and its folder there."""

import pytest

from tests.support.repositories import BASE, findings


@pytest.mark.parametrize(
    ("url", "codes"),
    [
        ("C:\\fleet", ["DSF016"]),
        ("C:/fleet", ["DSF016"]),
        ("[https://a/b](https://a/b)", ["DSF016"]),
        ("git@host:team\\fleet.git", ["DSF016"]),
        ("ssh://git@git.example.com:7999/team/fleet.git", []),
        ("git@ssh.dev.azure.com:v3/acme/platform/fleet", []),
        ("https://acme@dev.azure.com/acme/platform/_git/fleet", []),
        ("host.xz:path/to/repo.git", []),
        ("/srv/git/fleet.git", []),
    ],
)
def test_the_url_of_the_fleet_is_one_that_git_fetches(url: str, codes: list[str]) -> None:
    settings = BASE["gitops-dsf.yaml"].replace('"https://git.example.com/fleet.git"', f"'{url}'")
    assert [
        item.code for item in findings(settings=settings) if item.code in {"DSF016", "DSF335"}
    ] == codes


@pytest.mark.parametrize(
    ("path", "codes"),
    [
        ("../x", ["DSF335"]),
        ("fleets/../../x", ["DSF335"]),
        ("fleets\\eu", ["DSF335"]),
        ("/fleets/eu", ["DSF335"]),
        ("C:/fleets", ["DSF335"]),
        ("", []),
        (".", []),
        ("fleets/eu", []),
        ("fleets/eu/", []),
        ("./fleets/eu", []),
        ("fleets/..eu", []),
    ],
)
def test_the_folder_of_the_fleet_is_inside_of_the_repository(path: str, codes: list[str]) -> None:
    settings = BASE["gitops-dsf.yaml"].replace('fleet.git"}', f"fleet.git\", path: '{path}'}}")
    assert [
        item.code for item in findings(settings=settings) if item.code in {"DSF016", "DSF335"}
    ] == codes
