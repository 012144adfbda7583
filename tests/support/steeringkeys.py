"""Keys of labels and annotations that Argo CD 3.6.1 knows, by what they do."""

from typing import Final

STEERING: Final = (
    "argocd.argoproj.io/client-side-apply-migration-manager",
    "argocd.argoproj.io/compare-options",
    "argocd.argoproj.io/deletion-approved",
    "argocd.argoproj.io/hook",
    "argocd.argoproj.io/hook-delete-policy",
    "argocd.argoproj.io/ignore-differences",
    "argocd.argoproj.io/ignore-healthcheck",
    "argocd.argoproj.io/ignore-resource-updates",
    "argocd.argoproj.io/installation-id",
    "argocd.argoproj.io/sync-options",
    "argocd.argoproj.io/sync-wave",
    "argocd.argoproj.io/tracking-id",
    "helm.sh/hook",
    "helm.sh/hook-delete-policy",
    "helm.sh/hook-weight",
    "helm.sh/resource-policy",
)
"""What Argo CD 3.6.1 obeys on any object that it applies."""


NOTHING_HERE: Final = (
    "argocd.argoproj.io/application-set-refresh",
    "argocd.argoproj.io/auto-label-cluster-info",
    "argocd.argoproj.io/hook-finalizer",
    "argocd.argoproj.io/hydrate",
    "argocd.argoproj.io/hydrate-timestamp",
    "argocd.argoproj.io/ignore-default-links",
    "argocd.argoproj.io/ignore-restart-policy",
    "argocd.argoproj.io/kubernetes-version",
    "argocd.argoproj.io/managed-by-url",
    "argocd.argoproj.io/manifest-generate-paths",
    "argocd.argoproj.io/refresh",
    "argocd.argoproj.io/refresh-timestamp",
    "argocd.argoproj.io/secret-type",
    "argocd.argoproj.io/skip-reconcile",
)
"""What it obeys on Applications, Secrets or pods. They are refused with the rest: all begin
alike.
"""


HARMLESS: Final = {
    # Common labels. Argo CD reads part-of and component of its own ConfigMaps, Secrets and pods.
    "app.kubernetes.io/component",
    "app.kubernetes.io/name",
    "app.kubernetes.io/part-of",
    # With tracking by label (the default is by annotation) Argo CD itself writes it over what git
    # says.
    "app.kubernetes.io/instance",
    "applications.argoproj.io/app-name",
    # Read of objects on the hub, for a diff that our Applications do not use: they have
    # ServerSideDiff=true.
    "kubectl.kubernetes.io/last-applied-configuration",
    # Shown in the user interface.
    "autoscaling.alpha.kubernetes.io/conditions",
    "deployment.kubernetes.io/revision",
    "link.argocd.argoproj.io/",
    "rollout.argoproj.io/revision",
    # Of Secrets with tokens.
    "kubernetes.io/service-account-token",
    "kubernetes.io/service-account.name",
    "kubernetes.io/service-account.uid",
    # Finalizers of Applications.
    "resources-finalizer.argocd.argoproj.io/background",
    "resources-finalizer.argocd.argoproj.io/foreground",
    # Neither labels nor annotations.
    "apiextensions.k8s.io/CustomResourceDefinition",
    "client.authentication.k8s.io/exec",
    "server.dex/Proxy",
    "sigs.k8s.io/controller-runtime",
}
