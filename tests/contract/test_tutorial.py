"""docs/start/quickstart.md: its commands print what it shows, in one run from an empty folder."""

import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/start/quickstart.md").read_text(encoding="utf-8")
BLOCK = re.compile(r'^```(\w+)(?: title="(\S+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
REST = "..."
"""A line of an expected output that stands for any lines."""


def test_the_tutorial_shows_what_happens(tmp_path: Path, warm_programs: Path) -> None:
    folder = tmp_path
    for language, title, body in BLOCK.findall(PAGE):
        if language == "console":
            for command, expected in commands(body):
                if command.startswith("cd "):
                    folder /= command.removeprefix("cd ")
                else:
                    shown(run(command, folder, warm_programs), expected, command)
        elif language == "yaml":
            (folder / title).write_text(body, encoding="utf-8")
        elif language == "diff":
            edit(folder / title, body)
        else:
            assert language == "sh", f"a {language} block is neither run nor written"


def test_the_tutorial_ends_with_the_move_that_it_promises() -> None:
    *_, move, _, last = [body for language, _, body in BLOCK.findall(PAGE) if language == "console"]
    assert "1 application moves" in move
    assert last.endswith("1 test passed\n"), "the pipeline of what a reader has at the end is green"


def test_the_first_command_is_put_on_the_path() -> None:
    [first] = [body for language, _, body in BLOCK.findall(PAGE) if language == "sh"]
    assert first.splitlines() == ["make install", 'export PATH="$PWD/.venv/bin:$PATH"']
    assert PAGE.index("export PATH") < PAGE.index("$ gitops-dsf")


def commands(body: str) -> list[tuple[str, list[str]]]:
    found: list[tuple[str, list[str]]] = []
    for line in body.splitlines():
        if line.startswith("$ "):
            found.append((line.removeprefix("$ "), []))
        else:
            found[-1][1].append(line)
    return found


def run(command: str, folder: Path, programs: Path) -> list[str]:
    environment = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "HOME": str(folder),
        "PYTHONUNBUFFERED": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@example.com",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@example.com",
    }
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode in {0, 1}, f"{command}\n{done.stdout}"
    return done.stdout.splitlines()


def shown(output: list[str], expected: list[str], command: str) -> None:
    pattern = "".join("(?:.*\n)*?" if line == REST else re.escape(f"{line}\n") for line in expected)
    text = "".join(f"{line}\n" for line in output)
    assert re.fullmatch(pattern, text), f"$ {command}\n{text}"


def edit(file: Path, body: str) -> None:
    lines = body.splitlines()
    before = "".join(f"{line[1:]}\n" for line in lines if line[0] in " -")
    after = "".join(f"{line[1:]}\n" for line in lines if line[0] in " +")
    text = file.read_text(encoding="utf-8")
    assert text.count(before) == 1, f"{file.name} does not have\n{before}"
    file.write_text(text.replace(before, after), encoding="utf-8")
