"""What queues use."""
