"""The demo's report: one self-contained HTML file, made from a History."""
