"""How `--help` is laid out."""

import argparse


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Keeps paragraphs and examples, and fits them into the terminal."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        import textwrap

        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        from gitops_dsf.cli.width import narrowed

        return narrowed(super()._fill_text(text, width, indent), width)
