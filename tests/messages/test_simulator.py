"""Messages about traces and simulations."""

from __future__ import annotations

from closeknit.hub.problems import OneOf
from closeknit.hub.sentences import simulator
from tests.messages.table import message, mistakes

# fmt: off
MESSAGES = [
    message(simulator.UNKNOWN_FIELD, 'There is no field "pod". Did you mean "pods"? Allowed: "at", "name", "nodeSelector", "pods", "preferred", "priority", "required", "resources" and 1 more.', name="pod", known=OneOf(found="pod", allowed=("at", "name", "nodeSelector", "pods", "preferred", "priority", "required", "resources", "runs"), more=0)),
    message(simulator.MISSING_FIELD, "The field is missing. Write a name.", example="a name"),
    message(simulator.NOT_A_DURATION, '"x" is no time. Write seconds from 0 on, such as 90, or 90s, 15m, 2h, 1d.', value="x"),
    message(simulator.NOT_A_NUMBER, '"-3" is no number that is allowed here. Write a number from 0 on.', value="-3", allowed="a number from 0 on"),
    message(simulator.NOT_A_MAPPING, "This is no mapping. Write workloads: with a list below it.", found="no mapping", example="workloads: with a list below it"),
    message(simulator.NO_NAME, '"A_b" is no name for an object. Write up to 63 lower-case letters, digits and dashes, and begin and end with a letter or a digit.', value="A_b"),
    message(simulator.NAME_TWICE, '"a" is named twice. Give every workload a name of its own.', name="a"),
    message(simulator.OBJECT_TWICE, "PodCliqueSet default/serve is made by two workloads. Give every object a name of its own.", object="PodCliqueSet default/serve"),
    message(simulator.NO_MANIFEST_FILE, '"gone.yaml" cannot be read: No such file or directory. Name a file beside the trace, or write the object here.', file="gone.yaml", reason="No such file or directory"),
    message(simulator.NO_PODS_ASKED, "Nothing here asks for pods that Closeknit places. Write a workload of any family, such as a PodGroup with its pods, or a Job with a queue of Kueue or with schedulerName kai-scheduler."),
    message(simulator.MANIFESTS_NEED_OURS, 'The trace holds manifests, which only their operators turn into pods, and "kai" is a rule for gangs of equal pods. Leave the option out, or write closeknit.', name="kai"),
    message(simulator.NO_SUCH_LEVEL, 'The site has no level "rak". Did you mean "rack"? Allowed: "block", "host", "rack".', level="rak", known=OneOf(found="rak", allowed=("block", "host", "rack"), more=0)),
    message(simulator.REQUIRED_COARSER, 'The preferred level "block" is coarser than the required level "rack". Prefer a finer one, or leave it out.', preferred="block", required="rack"),
    message(simulator.NOTHING_TO_REPLAY, "There is nothing to replay. Name a trace with --trace, or draw workloads with --generate N."),
    message(simulator.EMPTY_TRACE, "The trace holds no workload."),
    message(simulator.TOO_MANY_WORKLOADS, "The trace holds more than 2 workloads. Take the first ones with --limit N; a run takes some seconds for each thousand.", most=2),
    message(simulator.UNKNOWN_COLUMNS, "The columns are one. Known are those of openb's list of nodes, and a list of hosts with the switches above each, coarsest first.", found="one", known="openb's list of nodes, and a list of hosts with the switches above each, coarsest first"),
    message(simulator.TRACE_TOO_LARGE, "A trace in YAML may have 67108864 bytes, and this one has 2147483648. Write it as CSV, which is read row by row.", most=67108864, bytes=2147483648),
    message(simulator.SHORT_ROW, "The row has 3 columns, and the header has 9.", found=3, wanted=9),
    message(simulator.ENDS_BEFORE_START, "It ends at 5, before it starts at 7.0.", end="5", start="7.0"),
    message(simulator.NOT_CSV, "The file is no CSV in UTF-8: No such file or directory.", reason="No such file or directory"),
    message(simulator.MANY_PROBLEMS, "There are more problems; the first 20 are listed.", number=20),
    message(simulator.NO_SITE, "There are no nodes to replay on. Give a shape with --nodes, such as block=4,rack=8,host=16, or a file with --cluster."),
    message(simulator.TWO_SITES, "--nodes and --cluster are both given. Give one of them."),
    message(simulator.NO_NODES, "There is no node in it."),
    message(simulator.NO_TOPOLOGY, "The nodes have no topology. Add a Topology object, or have racks made up with --rack-size N."),
    message(simulator.SEVERAL_TOPOLOGIES, 'There are 2 topologies. Name one of them with --topology. Allowed: "a", "b".', count=2, known=OneOf(found="", allowed=("a", "b"), more=0)),
    message(simulator.NODE_TWICE, 'Node "x" is listed twice.', name="x"),
    message(simulator.NO_SUCH_POLICY, 'There is no policy "kia". Did you mean "kai"? Allowed: "best-fit", "closeknit", "first-fit", "kai", "kueue".', name="kia", known=OneOf(found="kia", allowed=("best-fit", "closeknit", "first-fit", "kai", "kueue"), more=0)),
    message(simulator.TWO_TRACES, "--trace and --generate are both given. Give one of them; a trace can say generate itself."),
    message(simulator.NO_DEVICES, "No node has nvidia.com/gpu, so no load can be drawn for it. Give --gpus, or nodes that have some.", resource="nvidia.com/gpu"),
    message(simulator.OUTPUT_IS_FILE, "A directory is needed, and this is a file. Name another one."),
    message(simulator.NEVER_RAN, "3 pods were never scheduled in the trace and have no run time; they are left out.", count=3),
]
# fmt: on


def test_every_message_reads_as_listed() -> None:
    assert mistakes("simulator", MESSAGES) == []
