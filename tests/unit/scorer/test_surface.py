"""The public names, and what importing them costs."""

import subprocess
import sys

FOREIGN = (
    "pydantic",
    "promql_parser",
    "cel_expr_python",
    "ruamel",
    "yaml",
    "httpx",
    "kubernetes",
    "uvicorn",
    "numpy",
    "starlette",
    "prometheus_client",
)


def test_importing_the_sdk_imports_nothing_of_the_generator() -> None:
    code = (
        "import sys, dsf_scorer, dsf_scorer.testing; "
        f"print([n for n in {FOREIGN!r} if n in sys.modules], "
        "sorted(n for n in sys.modules if n.startswith('gitops_dsf.') and not"
        " n.startswith('dsf_scorer')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] []"
