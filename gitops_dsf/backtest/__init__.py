"""Computes the decisions of Placements over a past span of time.

It is a fold over events: raw scores become published scores by the agent's functions, and decisions
by OCM's rules, at the times at which OCM reconciles. All of it is pure. `gitops_dsf.metricstore`
reads the history, and `gitops_dsf.fleetbacktest` knows which history a fleet repository needs.

Not guaranteed: the load of applications. An application that moves takes its load with it, and the
scores of the past do not show that. Only paced Placements assume it (`paced`).
"""

import os

# numpy starts a thread for each processor, which waits busily for products of matrices. There are
# none here, and numpy reads the variable when it is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
