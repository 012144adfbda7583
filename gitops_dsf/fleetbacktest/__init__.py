"""What people read about a backtest: which applications a fleet repository would have moved, and why."""
