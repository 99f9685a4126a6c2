"""The map: what a cluster looks like now, for browsers and for programs; it changes nothing."""
