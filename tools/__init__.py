"""Developer tools: what keeps generated files in step. No part of any wheel."""
