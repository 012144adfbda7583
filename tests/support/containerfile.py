"""Containerfiles, as far as tests look into them: stages of instructions with their continued lines."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
Instruction = tuple[str, str]
Stage = list[Instruction]


def stages(file: str) -> list[Stage]:
    """What stands before the first FROM, then one list of (name, text) for each stage."""
    lines = [
        line for line in (ROOT / file).read_text(encoding="utf-8").splitlines() if not line.startswith("#")
    ]
    found: list[Stage] = [[]]
    for line in filter(str.strip, "\n".join(lines).replace("\\\n", " ").splitlines()):
        name, _, text = line.partition(" ")
        if name == "FROM":
            found.append([])
        found[-1].append((name, " ".join(text.split())))
    return found


def texts(stage: Stage, name: str) -> list[str]:
    return [text for each, text in stage if each == name]


def commands(stage: Stage) -> list[str]:
    """The shell commands, in order."""
    return [command.strip() for text in texts(stage, "RUN") for command in text.split("&&")]


def requirements(stage: Stage, output: str, *, source: Path, folder: Path) -> set[str]:
    """What the stage's own command exports from the lock of ``source``, each with a version and a hash."""
    (command,) = [command for command in commands(stage) if command.endswith(f"--output-file /tmp/{output}")]
    words = shlex.split(command.replace("/tmp/", f"{folder}/"))  # noqa: S108 - in the image
    uv = Path(sys.executable).with_name("uv")
    subprocess.run([uv, *words[1:]], cwd=source, check=True, capture_output=True, timeout=120)
    text = (folder / output).read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    assert all(re.match(r"[\w.-]+==\S+ .*--hash=sha256:[0-9a-f]{64}", line) for line in lines)
    return {line.partition("==")[0] for line in lines}
