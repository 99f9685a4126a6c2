"""Gangs over their life: whether their minimum runs, ever ran, and what follows if it does not."""
