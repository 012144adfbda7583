"""The demo's report: one HTML file that asks no one for anything, drawn from a History."""
