"""What Argo CD accepts: the fields of its ApplicationSets (`fields`), and their templates (`gotemplate`). The
data is in `api.json`, which `python -m tools.argocd_api` writes.
"""
