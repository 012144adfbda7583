"""Compares the rendered tree with the disk, and writes it without losing or half-writing a file."""
