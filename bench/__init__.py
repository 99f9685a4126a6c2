"""Measures the engine on clusters of 1,000 to 100,000 nodes; ``python -m bench`` prints the figures."""
