"""Commands as a person types them, and a page that shows them with their output and their times."""

import gzip
import io
import json
import os
import shlex
import subprocess
import tarfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from tests.hub.controlplane.waiting import wait_for

LINES = 24
"""What the page shows of a longer output."""
COMMAND_SECONDS = 1500

T = TypeVar("T")


@dataclass(kw_only=True)
class Transcript:
    """A shell in `folder`, and the page that tells what happened there.

    `hidden` maps what belongs to this machine to what the page says instead.
    """

    folder: Path
    environment: Mapping[str, str]
    hidden: Mapping[str, str] = field(default_factory=dict)
    times: list[tuple[str, float]] = field(default_factory=list)
    _parts: list[str] = field(default_factory=list)

    def section(self, title: str, text: str = "") -> None:
        self._parts.append(f"## {title}\n" + (f"\n{text}\n" if text else ""))

    def say(self, text: str) -> None:
        self._parts.append(f"{text}\n")

    def run(self, *commands: str, step: str = "", lines: int = LINES) -> str:
        """Run the commands in one shell; what they printed. AssertionError when one fails.

        With `step` their time is in the table.
        """
        started = time.monotonic()
        script = "\n".join(f"printf '%s\\n' {shlex.quote(f'$ {each}')}\n{each}" for each in commands)
        answer = subprocess.run(
            ["sh", "-euc", script],
            cwd=self.folder,
            env={**os.environ, **self.environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )
        seconds = time.monotonic() - started
        shown = [line.rstrip() for line in self._public(answer.stdout).rstrip().splitlines()]
        if len(shown) > lines:
            shown = [*shown[:lines], f"... ({len(shown) - lines} more lines)"]
        body = "\n".join(shown)
        self._parts.append(f"```text\n{body}\n```\n\n{seconds:.1f} s.\n")
        if step:
            self.times.append((step, seconds))
        if answer.returncode != 0:
            raise AssertionError(f"ended with {answer.returncode}:\n{self.page()}")
        return answer.stdout

    def write(self, path: str, text: str) -> None:
        """A file that a person writes in an editor."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        self._parts.append(f"`{path}`:\n\n```yaml\n{self._public(text).rstrip()}\n```\n")

    def until(
        self, look: Callable[[], T | None], *, step: str, timeout: float, seen: Callable[[], object]
    ) -> T:
        """Wait for something that the programs do by themselves. `step` says what has happened then."""
        started = time.monotonic()
        found = wait_for(look, what=step, timeout=timeout, seen=seen)
        seconds = time.monotonic() - started
        self.times.append((step, seconds))
        self._parts.append(f"{step}: {seconds:.1f} s later.\n")
        return found

    def page(self) -> str:
        """What happened so far, as Markdown."""
        return "\n".join(self._parts)

    def table(self) -> str:
        """All steps with their seconds."""
        rows = [f"| {step} | {seconds:.1f} |" for step, seconds in self.times]
        return "\n".join(["| step | seconds |", "|---|---:|", *rows]) + "\n"

    def _public(self, text: str) -> str:
        for private, public in self.hidden.items():
            text = text.replace(private, public)
        return text


def images_table(dist: Path, *, version: str) -> str:
    """The sizes of the images of a release, and what their bills of materials list."""
    rows = [
        "| image | archive | unpacked | Debian packages | Python distributions |",
        "|---|---:|---:|---:|---:|",
    ]
    for archive in sorted(dist.glob("*.oci.tar")):
        bill = archive.with_name(archive.name.replace(".oci.tar", ".cdx.json"))
        kinds = Counter(
            component["purl"].partition("/")[0]
            for component in json.loads(bill.read_text(encoding="utf-8"))["components"]
        )
        name = archive.name.partition(f"-{version}-")[0]
        rows.append(
            f"| `{name}` | {archive.stat().st_size / 1e6:.0f} MB | {unpacked(archive) / 1e6:.0f} MB"
            f" | {kinds['pkg:deb']} | {kinds['pkg:pypi']} |"
        )
    return "\n".join(rows) + "\n"


def unpacked(archive: Path) -> int:
    """The size of all files in an image."""
    with tarfile.open(archive) as tar:

        def blob(digest: str) -> bytes:
            file = tar.extractfile(f"blobs/{digest.replace(':', '/')}")
            assert file is not None
            return file.read()

        index = tar.extractfile("index.json")
        assert index is not None
        manifest = json.loads(blob(json.loads(index.read())["manifests"][0]["digest"]))
        total = 0
        for layer in manifest["layers"]:
            with tarfile.open(fileobj=io.BytesIO(gzip.decompress(blob(layer["digest"])))) as files:
                total += sum(entry.size for entry in files)
        return total
