"""Completions of real shells at TAB after they loaded the code of `gitops-dsf --completion SHELL` as its help
describes.
"""

import os
import pty
import shlex
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

BIN = Path(sys.executable).parent
SECONDS = 60

BASH = """
source <(gitops-dsf --completion bash)
COMP_LINE={line}; COMP_POINT=${{#COMP_LINE}}; COMP_WORDS=($COMP_LINE); COMP_TYPE=9
if [ "${{COMP_LINE% }}" != "$COMP_LINE" ]; then COMP_WORDS+=(""); fi
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_python_argcomplete gitops-dsf "${{COMP_WORDS[COMP_CWORD]}}" ""
printf '%s\\n' "${{COMPREPLY[@]}}"
"""

ZSHRC = """
autoload -Uz compinit && compinit -u -d "$ZDOTDIR/dump"
source <(gitops-dsf --completion zsh)
# Every match goes through compadd; calls with -O, -A or -D only look.
typeset -ga offered
compadd() {
  local -a matching
  if [[ " $argv " == *" -"[OAD]" "* ]]; then builtin compadd "$@"; return; fi
  builtin compadd -A matching "$@"
  offered+=("${matching[@]}")
  builtin compadd "$@"
}
tell() { print -l -- "${offered[@]}" > "$ZDOTDIR/part" && mv "$ZDOTDIR/part" "$ZDOTDIR/offered" }
comppostfuncs=(tell)
: > "$ZDOTDIR/ready"
"""


def bash(line: str, *, cwd: Path) -> set[str]:
    """Asks the completion function as readline does."""
    return _words(_run(["bash", "--norc", "-c", BASH.format(line=shlex.quote(line))], cwd=cwd))


def fish(line: str, *, cwd: Path) -> set[str]:
    """Asks for the completions of a line. The code is in the folder from which fish loads it."""
    with TemporaryDirectory() as home:
        code = Path(home) / "fish" / "completions" / "gitops-dsf.fish"
        code.parent.mkdir(parents=True)
        code.write_text(_run(["gitops-dsf", "--completion", "fish"], cwd=cwd), encoding="utf-8")
        answer = _run(["fish", "-c", f"complete -C {shlex.quote(line)}"], cwd=cwd, XDG_CONFIG_HOME=home)
    return _words("\n".join(candidate.partition("\t")[0] for candidate in answer.splitlines()))


def zsh(line: str, *, cwd: Path) -> set[str]:
    """Types the line and TAB into a terminal, because zsh completes only in its line editor."""
    with TemporaryDirectory() as folder:
        home = Path(folder)
        (home / ".zshrc").write_text(ZSHRC, encoding="utf-8")
        with _terminal(["zsh", "-d", "-i"], cwd=cwd, ZDOTDIR=folder, TERM="dumb") as write:
            _wait(home / "ready")
            write(f"{line}\t")
            _wait(home / "offered")
        return _words((home / "offered").read_text("utf-8"))


SHELLS: dict[str, Callable[..., set[str]]] = {"bash": bash, "fish": fish, "zsh": zsh}
"""By the name of the program."""


def _words(text: str) -> set[str]:
    return {candidate.rstrip() for candidate in text.splitlines() if candidate.strip()}


def _environment(more: dict[str, str]) -> dict[str, str]:
    return {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "HOME": "/nonexistent", **more}


def _run(command: list[str], *, cwd: Path, **environment: str) -> str:
    program = shutil.which(command[0], path=_environment({})["PATH"])
    assert program is not None
    done = subprocess.run(
        [program, *command[1:]],
        cwd=cwd,
        env=_environment(environment),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
    )
    return done.stdout


@contextmanager
def _terminal(command: list[str], *, cwd: Path, **environment: str) -> Iterator[Callable[[str], None]]:
    """Runs a program in its own terminal. Yields a function that types into it."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        command,
        cwd=cwd,
        env=_environment(environment),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    reader = threading.Thread(target=_drain, args=(ours,))
    reader.start()
    try:
        yield lambda text: _type(ours, text)
    finally:
        child.kill()
        child.wait()
        reader.join()
        os.close(ours)


def _type(terminal: int, text: str) -> None:
    os.write(terminal, text.encode())


def _drain(terminal: int) -> None:
    """Reads and discards output, so that the program never waits. On Linux a closed terminal is an error."""
    try:
        while os.read(terminal, 65_536):
            pass
    except OSError:
        return


def _wait(path: Path) -> None:
    end = time.monotonic() + SECONDS
    while not path.exists():
        assert time.monotonic() < end, f"the shell did not get as far as {path.name}"
        time.sleep(0.02)
