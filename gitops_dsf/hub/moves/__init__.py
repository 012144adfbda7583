"""Moves of applications: their causes, reasons to wait, old copies that wait, and flapping."""
