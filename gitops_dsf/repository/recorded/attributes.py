"""Finds files whose content git changes on the way to a commit, by its attributes.

The validated content must be the committed content: Argo CD clones the commit.
"""

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from gitops_dsf.diagnostics import Diagnostic, Position, codes
from gitops_dsf.repository.git import Repository, RevisionError, git_command, git_message
from gitops_dsf.repository.recorded.bounded import bounded
from gitops_dsf.repository.recorded.entries import decoded

_ATTRIBUTES: Final = ("filter", "working-tree-encoding", "ident")
"""Attributes of git that make the content of a commit differ from that of the file.

The others change line breaks, which YAML reads alike, or what `git archive` writes, which nothing
here reads.
"""


def may_change_content(attributes: bytes) -> bool:
    """Whether a file of attributes may name one by which git changes the content of files.

    False is certain: a macro names the attributes that it stands for.
    """
    return any(attribute.encode() in attributes for attribute in _ATTRIBUTES)


def changed_by_git(
    repository: Repository, texts: Mapping[str, str], *, index: Path | None = None
) -> Iterator[Diagnostic]:
    """Findings about files whose content git changes, by its attributes.

    `texts` are the files by path. With `index`, the attributes are those in an index and not those
    in the working tree. Raises RevisionError.
    """
    if not texts:
        return
    options = ("-z", "--stdin") if index is None else ("--cached", "-z", "--stdin")
    names = b"".join(name.encode(errors="surrogateescape") + b"\0" for name in texts)
    completed = repository.attempt("check-attr", *options, *_ATTRIBUTES, stdin=names, index=index)
    if completed.returncode != 0:
        raise RevisionError(git_message(completed))
    fields = list(map(decoded, completed.stdout.split(b"\0")[:-1]))
    findings = []
    # Git lists three fields for each file and attribute.
    for path, attribute, value in zip(fields[::3], fields[1::3], fields[2::3], strict=True):
        if _changes_content(attribute, value, texts[path]):
            findings.append(_changed(repository, path, attribute, value))
    yield from bounded(findings)


def _changes_content(attribute: str, value: str, text: str) -> bool:
    """Whether git converts this text with this value of an attribute (gitattributes(5))."""
    if value in {"unspecified", "unset"}:
        return False
    if attribute == "ident":
        # Git replaces `$Id$`, and nothing else.
        return value == "set" and "$Id" in text
    if attribute == "working-tree-encoding":
        return value.lower() not in {"set", "utf-8", "utf8"}
    # A filter has a name; `filter` alone names none.
    return value != "set"


def _changed(repository: Repository, path: str, attribute: str, value: str) -> Diagnostic:
    setting = attribute if value == "set" else f"{attribute}={value}"
    git = git_command(repository.directory)
    return codes.CHANGED_BY_GIT.at(
        Position(file=path),
        f"git has another content of this file: its attributes say {setting}",
        f"take {attribute} away from it in .gitattributes, and run"
        f" `{git} add --renormalize {shlex.quote(path)}`",
    )
