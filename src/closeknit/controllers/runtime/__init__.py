"""Observe, decide, write, and look again: what every controller is run by. Knows no family."""
