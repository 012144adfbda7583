"""Generates the requirements.txt of `init --hashes`: the dependencies of the generator, with the hashes of
uv.lock.

`python -m tools.requirements` writes it. The lines of our own distributions have no hash, because a file
cannot contain its own hash. `init --wheels` adds them.
"""

import subprocess
import sys
from pathlib import Path
from typing import Final

from tools.version import ROOT, current

TEMPLATE: Final = ROOT / "repo-template/on-request/hashes/requirements.txt"
_OWN: Final = ("gitops-dsf", "gitops-dsf-scorer", "gitops-dsf-wire")
_HEADER: Final = """\
# What gitops-dsf needs, with the hashes of every file: pip refuses every other file.
"""


def requirements() -> str:
    """Returns the content of the file: ours first, without hashes."""
    done = subprocess.run(
        [
            Path(sys.executable).with_name("uv"),
            "export",
            *("--quiet", "--frozen", "--package", "gitops-dsf", "--no-dev", "--no-emit-workspace"),
            *("--no-header", "--no-annotate"),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    own = "".join(f"{name}=={current(ROOT)}\n" for name in _OWN)
    return f"{_HEADER}{own}{done.stdout}"


if __name__ == "__main__":
    TEMPLATE.write_text(requirements(), encoding="utf-8")
