"""Write the workloads of any family as the objects of another."""
