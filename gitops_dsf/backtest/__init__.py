"""Computes what a fleet repository would have decided over a past span of time.

A fold over events: raw scores -> the agent's functions -> published scores -> OCM's rules, at the moments at
which OCM reconciles. Pure: reading a metric store is in `gitops_dsf.metricstore`.
"""

import os

# numpy starts a thread for each processor, which waits busily for products of matrices. There are none.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
