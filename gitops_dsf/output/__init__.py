"""The rendered tree on disk: what differs, and writing it without ever losing or half-writing a file."""
