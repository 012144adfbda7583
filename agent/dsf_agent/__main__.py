"""The entry point of ``python -m dsf_agent``."""

import sys

from dsf_agent.main import main

sys.exit(main())
