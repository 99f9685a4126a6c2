"""What the hub says: amounts, requests, clusters and drawings."""

from __future__ import annotations

from closeknit.hub.problems import Code

# fmt: off
# Amounts.
NOT_A_QUANTITY = Code("not-a-quantity", "{value:raw} is not a quantity. Write a number, such as 8, 500m or 1.5Gi.")
QUANTITY_TOO_LONG = Code("quantity-too-long", "{value} is too long for a quantity. Write at most 64 characters.")
UNKNOWN_SUFFIX = Code("unknown-suffix", "{value} is not a quantity. Write a number with an optional suffix (n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi or Ei), such as 8, 500m or 1.5Gi.")
NEGATIVE = Code("negative", "{value} is negative. Write zero or more.")
TOO_LARGE = Code("too-large", "{value} is too large. The most that can be counted is {most}.")
UNCOUNTABLE = Code("uncountable", "More is held on node {node} than can be counted; the most is {most} units.")

# Requests.
NO_SUCH_TOPOLOGY = Code("no-such-topology", "There is no topology {topology}.")
NAME_USED_TWICE = Code("name-used-twice", "The name {name} is used twice; give each member its own.")
IMPOSSIBLE_MINIMUM = Code("impossible-minimum", "{value} is not possible. {remedy}")
COARSER_THAN_ABOVE = Code("coarser-than-above", "{level} is coarser than {bound}, the level required above it. Name {bound} or a finer level, or leave it out.")
NESTED_TOO_DEEP = Code("nested-too-deep", "Groups are nested more than {most} deep. Leave some out.")
MORE_BOUND_THAN_COUNT = Code("more-bound-than-count", "{bound} pods run already, but count is {count}. Raise count.")
NAMES_DO_NOT_MATCH = Code("names-do-not-match", "{names} names are given for {pods} pods. Name all of them or none.")
LEVEL_WITHOUT_TOPOLOGY = Code("level-without-topology", "The level {level} is named, but the request names no known topology.")
UNKNOWN_LEVEL = Code("unknown-level", "Topology {topology} has no level {level}. {remedy}")

# Clusters.
NODE_TWICE = Code("node-twice", "Two nodes are called {node}. Give each its own name.")
UNKNOWN_NODE = Code("unknown-node", "There is no node {node}.")
TOPOLOGY_TWICE = Code("topology-twice", "Two topologies are called {topology}. Give each its own name.")
LEVEL_TWICE = Code("level-twice", "{field} has the label {label} as well. Give each level its own.")
NODE_EXISTS = Code("node-exists", "There is a node {node} already. Change it instead.")
BOUND_TO_UNKNOWN_NODE = Code("bound-to-unknown-node", "There is no node {node}; a pod cannot run on it.")

TOO_FEW_HELD = Code("too-few-held", "Workload {workload} holds {held} such pods on node {node}, so {pods} cannot be released. Name at most {held}.")

# Drawings.
UNKNOWN_TOPOLOGY = Code("unknown-topology", "There is no topology {topology}. {remedy}")
INDENTED_WITH_TAB = Code("indented-with-tab", "The line is indented with a tab. Indent with spaces.")
INDENTED_BETWEEN = Code("indented-between", "The line is indented by {column}, which matches no line above it. Indent by {allowed:raw}.")
INSIDE_A_HOST = Code("inside-a-host", "Host {host} holds nothing further. Indent by {column}, or drop the colon to make it a domain.")
NOT_ONE_NAME = Code("not-one-name", "{line} does not start with one name. Write a domain as one word, or a host as one word, a colon and its GPUs.")
DRAWN_TOO_DEEP = Code("drawn-too-deep", "{domain} lies {depth} levels deep. {remedy:raw}")
DOMAIN_DRAWN_TWICE = Code("domain-drawn-twice", "Domain {domain} is already drawn on line {line}. Draw all of it in one place, or give this one its own name.")
HOST_DRAWN_TWICE = Code("host-drawn-twice", "Host {host} is already drawn on line {line}. Give each host of the cluster its own name.")
DRAWN_HOST = Code("drawn-host", "Host {host}: {problem}")
UNKNOWN_WORD = Code("unknown-word", "{word} is not understood. {remedy} A resource of another name needs a slash in it.")
RESOURCE_TWICE = Code("resource-twice", "{resource:raw} is written twice. Write it once.")
NO_PODS_DRAWN = Code("no-pods-drawn", "pods=0 cannot be drawn. Write unschedulable instead.")
RESOURCE_AMOUNT = Code("resource-amount", "{resource:raw}: {problem}")
NOT_A_TAINT = Code("not-a-taint", "{word} is not a taint. Write taint:KEY=VALUE:EFFECT or taint:KEY:EFFECT.")
UNKNOWN_EFFECT = Code("unknown-effect", "{effect} is not a taint's effect. {remedy}")
USED_WITHOUT_NUMBER = Code("used-without-number", "{word} does not start with a number of pods. Write used=3, used=3:train or used=3:train:cpu=4,port=80/TCP.")
NOT_A_PORT = Code("not-a-port", "{word} is not a port. Write port=80 or port=80/UDP.")
MORE_USED_THAN_OFFERED = Code("more-used-than-offered", "{used:raw} of {resource:raw} are used, but it has {offered:raw}.")
AND_MORE = Code("and-more", "More is wrong in the same way. Mend the first {count} to see the rest.")
