"""Programs for those who maintain Closeknit; the make targets run them, and nothing of them is installed."""
