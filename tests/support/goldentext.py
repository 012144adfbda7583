"""A golden file of texts: a heading for each case, and the lines about it."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path


@dataclass(frozen=True)
class GoldenText:
    """The file. ``said`` gives the lines about a case now."""

    path: Path
    cases: Collection[str]
    said: Callable[[str], list[str]]

    @cached_property
    def lines(self) -> Mapping[str, list[str]]:
        """The lines in the file, by case."""
        sections: dict[str, list[str]] = {}
        title = ""
        for line in self.path.read_text(encoding="utf-8").splitlines():
            if line.startswith("# "):
                title = line[2:]
                sections[title] = []
            elif line:
                sections[title].append(line)
        return sections

    def check_cases(self, *, update: bool) -> None:
        """The file has these cases in this order. With ``update`` it is written first."""
        if update:
            lines = [line for name in self.cases for line in (f"# {name}", *self.said(name), "")]
            self.path.write_text("\n".join(lines), encoding="utf-8")
            self.__dict__.pop("lines", None)
        assert list(self.lines) == list(self.cases)

    def check(self, *names: str, update: bool) -> None:
        """What is said about these cases is what the file has.

        With ``update`` nothing is compared: the order of tests is random, so `check_cases` may
        write the file later.
        """
        if update:
            return
        now = {name: self.said(name) for name in names}
        changed = [name for name in names if now[name] != self.lines.get(name)]
        assert {name: now[name] for name in changed} == {
            name: self.lines.get(name) for name in changed
        }, "the texts changed: review them, then run `make golden`"
