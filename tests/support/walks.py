"""Pages that a test walks as a reader does: the commands of a session, and edits of files."""

import re
from pathlib import Path
from typing import Final

REST: Final = "..."
"""A line of an expected output that stands for any lines; in the hub suite also for part of one."""
NEEDS_CONTAINERS: Final = re.compile(
    r"(for name in [\w ]+; do |until )?(docker|kind|clusteradm|make|curl) "
    r"|for name in [\w ]+; do sh -c \"\$\(cat join\.sh\)"
    r"|version=\$\(|dist=|cp \$dist/"
    r"|kubectl --context kind-hub create namespace argocd$"
    r"|kubectl --context kind-hub --namespace argocd (apply --server-side|wait deployments) "
)
"""Commands of docs/start/kind.md that need containers, and those that prepare or follow them."""


def commands(body: str) -> list[tuple[str, list[str]]]:
    """Each command of a shell session with the lines that it prints.

    A backslash at the end of a line continues the command.
    """
    session: list[tuple[str, list[str]]] = []
    for line in re.sub(r"\\\n *", "", body).splitlines():
        if line.startswith("$ "):
            session.append((line.removeprefix("$ "), []))
        else:
            session[-1][1].append(line)
    return session


def edit(file: Path, body: str) -> None:
    """Makes the edit of a diff without positions, whose old lines the file has once."""
    lines = body.splitlines()
    before = "".join(f"{line[1:]}\n" for line in lines if line[0] in " -")
    after = "".join(f"{line[1:]}\n" for line in lines if line[0] in " +")
    text = file.read_text(encoding="utf-8")
    assert text.count(before) == 1, f"{file.name} does not have\n{before}"
    file.write_text(text.replace(before, after), encoding="utf-8")
