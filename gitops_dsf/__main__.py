"""The start of the program, also as python -m gitops_dsf.

It imports the rest inside of its function, so that an interrupt while modules are read ends it as
it does later: with one line and exit code 130.
"""

import sys


def main() -> int:
    """Runs the command of this process and returns its exit code."""
    try:
        from gitops_dsf.cli.main import main as run  # noqa: PLC0415 - see above

        return run()
    except KeyboardInterrupt:
        print("gitops-dsf: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
