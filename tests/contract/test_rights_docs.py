"""docs/operate/security.md tells administrators what the reconciler may do: its table is the list from which
the roles are rendered.
"""

from pathlib import Path

from gitops_dsf.render.reconciler.rights import DECISIONS, RIGHTS, Right

DOCS = Path(__file__).parents[2] / "docs/operate/security.md"
HEAD = ["| where | what |", "|---|---|"]


def row(where: str) -> str:
    rights = [right for right in (*RIGHTS, DECISIONS) if right.where == where]
    return f"| {where} | {'; '.join(map(said, rights))} |"


def said(right: Right) -> str:
    names = "".join(f" `{name}`" for name in right.names)
    return f"{right.resource}{names} ({', '.join(right.verbs)})"


def test_the_table_is_the_list() -> None:
    lines = DOCS.read_text(encoding="utf-8").splitlines()
    start = next(index for index, line in enumerate(lines) if lines[index : index + 2] == HEAD)
    table = lines[start + 2 :]
    end = next((index for index, line in enumerate(table) if not line.startswith("|")), len(table))
    assert table[:end] == [
        row(where) for where in dict.fromkeys(right.where for right in (*RIGHTS, DECISIONS))
    ]
