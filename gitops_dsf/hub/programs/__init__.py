"""The programs of gitops-dsf that run on a hub: their pods and their leaders."""
