"""Runs the tests of a project that we write or document, as its author does."""

import os
import subprocess
import sys
from pathlib import Path


def run_project_tests(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Runs pytest in this folder, without the plugins of this repository and without a cache."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments],
        cwd=folder,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
