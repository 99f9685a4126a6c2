"""What the simulator says of traces, sites and its options."""

from __future__ import annotations

from closeknit.hub.problems import Code, Severity

# fmt: off
UNKNOWN_FIELD = Code("unknown-trace-field", "There is no field {name}. {known}")
MISSING_FIELD = Code("missing-trace-field", "The field is missing. Write {example:raw}.")
NOT_A_DURATION = Code("not-a-duration", "{value} is no time. Write seconds from 0 on, such as 90, or 90s, 15m, 2h, 1d.")
NOT_A_NUMBER = Code("not-a-trace-number", "{value} is no number that is allowed here. Write {allowed:raw}.")
NOT_A_MAPPING = Code("not-a-trace-mapping", "This is {found:raw}. Write {example:raw}.")
NO_NAME = Code("no-trace-name", "{value} is no name for an object. Write up to 63 lower-case letters, digits and dashes, and begin and end with a letter or a digit.")
NAME_TWICE = Code("trace-name-twice", "{name} is named twice. Give every workload a name of its own.")
OBJECT_TWICE = Code("trace-object-twice", "{object:raw} is made by two workloads. Give every object a name of its own.")
NO_MANIFEST_FILE = Code("no-manifest-file", "{file} cannot be read: {reason:raw}. Name a file beside the trace, or write the object here.")
NO_PODS_ASKED = Code("no-pods-asked", "Nothing here asks for pods that Closeknit places. Write a workload of any family, such as a PodGroup with its pods, or a Job with a queue of Kueue or with schedulerName kai-scheduler.")
MANIFESTS_NEED_OURS = Code("manifests-need-ours", "The trace holds manifests, which only their operators turn into pods, and {name} is a rule for gangs of equal pods. Leave the option out, or write closeknit.")
NO_SUCH_LEVEL = Code("no-trace-level", "The site has no level {level}. {known}")
REQUIRED_COARSER = Code("trace-required-finer", "The preferred level {preferred} is coarser than the required level {required}. Prefer a finer one, or leave it out.")
NOTHING_TO_REPLAY = Code("nothing-to-replay", "There is nothing to replay. Name a trace with --trace, or draw workloads with --generate N.")
EMPTY_TRACE = Code("empty-trace", "The trace holds no workload.")
TOO_MANY_WORKLOADS = Code("too-many-workloads", "The trace holds more than {most} workloads. Take the first ones with --limit N; a run takes some seconds for each thousand.")
UNKNOWN_COLUMNS = Code("unknown-columns", "The columns are {found:raw}. Known are those of {known:raw}.")
TRACE_TOO_LARGE = Code("trace-too-large", "A trace in YAML may have {most} bytes, and this one has {bytes}. Write it as CSV, which is read row by row.")
SHORT_ROW = Code("short-row", "The row has {found} columns, and the header has {wanted}.")
ENDS_BEFORE_START = Code("ends-before-start", "It ends at {end:raw}, before it starts at {start:raw}.")
NOT_CSV = Code("not-csv", "The file is no CSV in UTF-8: {reason:raw}.")
MANY_PROBLEMS = Code("many-problems", "There are more problems; the first {number} are listed.")
NO_SITE = Code("no-site", "There are no nodes to replay on. Give a shape with --nodes, such as block=4,rack=8,host=16, or a file with --cluster.")
TWO_SITES = Code("two-sites", "--nodes and --cluster are both given. Give one of them.")
NO_NODES = Code("no-nodes-in-site", "There is no node in it.")
NO_TOPOLOGY = Code("no-site-topology", "The nodes have no topology. Add a Topology object, or have racks made up with --rack-size N.")
SEVERAL_TOPOLOGIES = Code("several-site-topologies", "There are {count} topologies. Name one of them with --topology. {known}")
NODE_TWICE = Code("site-node-twice", "Node {name} is listed twice.")
NO_SUCH_POLICY = Code("no-such-policy", "There is no policy {name}. {known}")
TWO_TRACES = Code("trace-and-generate", "--trace and --generate are both given. Give one of them; a trace can say generate itself.")
NO_DEVICES = Code("no-devices", "No node has {resource:raw}, so no load can be drawn for it. Give --gpus, or nodes that have some.")
OUTPUT_IS_FILE = Code("output-is-file", "A directory is needed, and this is a file. Name another one.")

NEVER_RAN = Code("never-ran-in-trace", "{count} pods were never scheduled in the trace and have no run time; they are left out.", Severity.NOTE)
