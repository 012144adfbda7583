"""Runs the tests of a project that we write or document, as its author does."""

import os
import subprocess
import sys
from pathlib import Path

from tests.support.commandline import program


def run_project_tests(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Runs pytest in this folder, without the plugins of this repository and without a cache."""
    command = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments)
    return program(
        *command, cwd=folder, environ={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    )
