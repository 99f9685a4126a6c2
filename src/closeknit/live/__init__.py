"""What everything that works on a live cluster shares: following it, reading its objects, taking turns."""
