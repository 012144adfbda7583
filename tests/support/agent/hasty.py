"""The agent's program with delays of its own choice: python -P hasty.py prune=1,poll=1 run ..."""

import sys

from dsf_agent.configuration.settings import Waits
from dsf_agent.main import main

if __name__ == "__main__":
    waits = dict(one.split("=") for one in sys.argv[1].split(","))
    sys.exit(
        main(sys.argv[2:], waits=Waits(**{name: float(value) for name, value in waits.items()}))
    )
