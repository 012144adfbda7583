"""Renders a fleet as files, one Kubernetes object per file.

The bytes are the same everywhere. Pure.
"""
