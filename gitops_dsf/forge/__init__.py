"""Pull requests and their comments on a forge: proposals of the reconciler, previews of pipelines.

address  where a forge's API is, and what it calls the repository
forge    what all forges have in common
forges   GitHub, GitLab, Gitea and Forgejo

Callers bring their own way to send requests (`Send`), with their token and limits.
"""
