"""Why a request is placed where it is, or why it cannot be: data, made with the engine's own search.

``explain`` puts a shortfall together: ``blame`` finds the groups at fault, ``fits`` what the best
domains take and who holds what is missing, ``exclusions`` which nodes are out of the question,
and ``coarser_levels``, ``fewer_pods`` and ``departures`` what would help. ``alternatives`` tells what
a placed group could choose from. Wording belongs to callers.
"""
