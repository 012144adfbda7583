"""Puts gitops-dsf onto a hub and takes it away again: `install` and `uninstall`.

`install` applies only objects that Argo CD does not apply itself: the health checks, and the
AppProjects and Applications of rendered/argocd. Everything else comes from git. A second field
owner of it would keep fields alive that git no longer has. `uninstall` finds objects by their
labels, so it needs no repository; `whatstays` lists the objects that it leaves to people.
"""
