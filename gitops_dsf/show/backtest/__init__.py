"""A backtest in words: for a terminal, as Markdown for a pull request, and as an HTML page."""
