"""Paths and addresses that a scorer uses where it names none."""

from typing import Final

SCORING_PATH: Final = "/scoring"
RECEIVER_PORT: Final = 9090
RECEIVER_ORIGIN: Final = f"http://127.0.0.1:{RECEIVER_PORT}"
"""The address at which the agent reaches the receiver for OpenTelemetry metrics, which runs in its
pod.
"""
