"""Calls to metric sources, scoring APIs and API servers, with their credentials and limits."""
