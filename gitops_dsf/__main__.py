"""python -m gitops_dsf."""

import sys

from gitops_dsf.cli.main import main

sys.exit(main())
