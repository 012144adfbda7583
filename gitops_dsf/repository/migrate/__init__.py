"""Older spellings of scorers and masks to ours, by edits of the source text: every other byte stays."""

from gitops_dsf.repository.migrate.rewrite import Change, Rewritten, rewrite

__all__ = ["Change", "Rewritten", "rewrite"]
