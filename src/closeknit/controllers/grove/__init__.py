"""Grove's operator: PodCliqueSets become PodCliques, PodGangs and pods, and topologies become KAI's."""
