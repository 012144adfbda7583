"""The failure of a build."""


class ImageError(Exception):
    """An image cannot be built; the message says why and what to do."""
