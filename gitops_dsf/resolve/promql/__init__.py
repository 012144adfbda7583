"""PromQL: where an expression is wrong, which labels its result can have, how far it looks back."""
