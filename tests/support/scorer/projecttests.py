"""Runs the tests of a project that we write or document, as its author does."""

import os
import subprocess
from pathlib import Path

from tests.support.commandline import program


def run_project_tests(
    folder: Path, *arguments: str, programs: Path
) -> "subprocess.CompletedProcess[str]":
    """Runs pytest in this folder, by the Python of these programs, without the plugins of this
    repository and without a cache.
    """
    python = programs / "python"
    environ = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    words = ("-m", "pytest", "-p", "no:cacheprovider", *arguments)
    return program(python, *words, cwd=folder, environ=environ)
