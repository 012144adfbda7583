"""demo-out: the folder that a demo creates and keeps. Only one demo can use it at a time."""

import fcntl
import shutil
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TextIO

from demo.errors import DemoError

MARKER: Final = ".gitops-dsf-demo"


class Folder:
    """Holds a lock during its `with` block. Paths are absolute."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._lock: TextIO | None = None
        self.fleet = self.root / "fleet"
        """The git repository."""
        self.scores = self.root / "scores"
        """A folder per cluster, which its agent publishes to."""
        self.hub = self.root / "hub"
        """The snapshot of scores and decisions."""
        self.volumes = self.root / "volumes"
        """A folder per cluster, mounted into its agent."""
        self.logs = self.root / "logs"
        """A file per program."""
        self.numbers = self.root / "history.json"
        """Scores, decisions, events and moves over time."""
        self.raw_scores = self.root / "scores.json"
        """The raw scores over time, as a metric store answers them."""
        self.backtest = self.root / "backtest.html"
        """The HTML page of the backtest."""
        self.processes = self.root / "processes"
        """The running programs, as lines of pid and name."""

    def __enter__(self) -> Self:
        """Raises DemoError if the folder holds anything else, or another demo runs in it."""
        marker = self.root / MARKER
        try:
            if (
                self.root.exists()
                and not marker.is_file()
                and (not self.root.is_dir() or any(self.root.iterdir()))
            ):
                msg = (
                    f"{self.root} is there and no demo made it: remove it, or name another folder with --out"
                )
                raise DemoError(msg)
            self.root.mkdir(parents=True, exist_ok=True)
            self._lock = marker.open("a", encoding="utf-8")
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for item in self.root.iterdir():
                if item.name == MARKER:
                    continue
                if item.is_dir() and not item.is_symlink():
                    shutil.rmtree(item)
                else:
                    item.unlink()
        except BlockingIOError as error:
            self._release()
            msg = f"a demo is running in {self.root}: end it with Ctrl-C, or name another folder with --out"
            raise DemoError(msg) from error
        except OSError as error:
            self._release()
            msg = f"{error.filename or self.root} cannot be used: {error.strerror or error}"
            raise DemoError(msg) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._release()

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None
