"""Rewrites older spellings of scorers and masks by editing the source text. All other bytes stay."""

from gitops_dsf.repository.migrate.rewrite import Change, Rewritten, rewrite

__all__ = ["Change", "Rewritten", "rewrite"]
