"""Which URLs of a repository are taken."""

import pytest

from gitops_dsf.errors import UsageError
from gitops_dsf.reconciler.git import Author
from gitops_dsf.reconciler.git.url import checked, is_http, is_ssh


@pytest.mark.parametrize(
    "url",
    [
        "https://git.example.com/team/fleet.git",
        "https://git.example.com:8443/fleet",
        "ssh://git@git.example.com:22/team/fleet.git",
        "git@git.example.com:team/fleet.git",
        "git.example.com:team/fleet.git",
        "file:///srv/fleet.git",
    ],
)
def test_usual_forms_are_taken(url: str) -> None:
    assert checked(url) == url
    assert is_http(url) == url.startswith("https")
    assert is_ssh(url) == ("git@" in url or url.startswith("git."))


@pytest.mark.parametrize(
    "url", ["https://tom:secret@git.example.com/fleet", "https://token@git.example.com/fleet"]
)
def test_a_url_with_a_secret_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(UsageError, match=r"that reconciler\.gitSecret names") as caught:
        checked(url)
    assert "secret@" not in str(caught.value)
    assert "token@" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "fleet",
        "--upload-pack=x",
        "ext::sh -c id",
        "https://",
        "https://host",
        "https://host/a b",
        "ftp://h/x",
        "fd::3",
        "fd::17/team/fleet",
        "ext::sh",
        "ext::sh%20-c%20id",
        "fd://3/x",
        "ssh://-oProxyCommand=id/team/fleet.git",
        "ssh://git@-oProxyCommand=id/team/fleet.git",
        "ssh://-oProxyCommand=id@git.example.com/fleet.git",
        "-oProxyCommand=id@git.example.com:team/fleet.git",
        "git@-oProxyCommand=id:team/fleet.git",
        "git@git.example.com:-team/fleet.git",
        "ssh://git@git.example.com:-1/fleet.git",
        "https://git.example.com:x/fleet.git",
    ],
)
def test_other_texts_are_refused(url: str) -> None:
    with pytest.raises(UsageError, match="write https://host/owner"):
        checked(url)


def test_an_author_has_a_name_and_an_address() -> None:
    author = Author.parse(" Fleet Reconciler <fleet@example.com> ")
    assert (author.name, author.mail) == ("Fleet Reconciler", "fleet@example.com")
    assert str(author) == "Fleet Reconciler <fleet@example.com>"
    for text in ("Fleet", "<fleet@example.com>", "A <b@c> <d@e>", "A <b c>", "A\nB <b@c>"):
        with pytest.raises(UsageError, match="author"):
            Author.parse(text)
