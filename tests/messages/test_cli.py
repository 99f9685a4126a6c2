"""Messages about the command line."""

from __future__ import annotations

from closeknit.hub.problems import OneOf
from closeknit.hub.sentences import cli
from tests.messages.table import message, mistakes

# fmt: off
MESSAGES = [
    message(cli.NOT_A_SETTING, '"gpus" is no setting. Write key=value, such as --set gpus=8.', setting="gpus"),
    message(cli.STDIN_TWICE, "Standard input is named twice, but can be read once. Name it once."),
    message(cli.OLD_FROM_STDIN, "Two versions cannot be compared where one is standard input. Name files."),
    message(cli.UNREADABLE_DIRECTORY, "The directory cannot be read: Permission denied.", reason="Permission denied"),
    message(cli.EMPTY_DIRECTORY, "The directory holds no file that ends in .yaml, .yml, .json. Directories inside it are not read; name them with -f as well.", suffixes=".yaml, .yml, .json"),
    message(cli.NO_SUCH_FILE, 'There is no such file or directory. Did you mean "nodes.yaml"?', remedy=' Did you mean "nodes.yaml"?'),
    message(cli.UNREADABLE_FILE, "The file cannot be read: it holds no UTF-8 text.", reason="it holds no UTF-8 text"),
    message(cli.UNWRITABLE_FILES, "The files cannot be written: File exists.", reason="File exists"),
    message(cli.SHAPE_AND_DRAWING, "--shape and --drawing are both given. Give one of them."),
    message(cli.LEVELS_OF_SHAPE, "--levels names the levels of a drawing; a shape names its own. Leave --levels out."),
    message(cli.NEITHER_SHAPE_NOR_DRAWING, "Neither --shape nor --drawing is given. Give one of them, such as --shape rack=2,host=4."),
    message(cli.NODES_AND_DRAWING, "--nodes and --drawing are both given. Give one of them."),
    message(cli.KUBECONFIG_OF_OTHERS, "file.yaml holds something else and is left alone. Name another file.", file="file.yaml"),
    message(cli.UNUSABLE_STATE, "file.yaml is no SQLite file: file is not a database. Name another file.", reason="file.yaml is no SQLite file: file is not a database. Name another file."),
    message(cli.KUBECONFIG_IN_USE, "kubeconfig belongs to the cluster that another process serves on first. Use that cluster, or end the process first, or name another file for a second one, such as --kubeconfig second.kubeconfig.", file="kubeconfig", server="first", process="another process"),
    message(cli.KUBECONFIG_UNREADABLE, ". cannot be read: Is a directory. Name another file.", file=".", reason="Is a directory"),
    message(cli.KUBECONFIG_UNWRITABLE, "no-such-folder/kubeconfig cannot be written: No such file or directory. Name a file in a folder that you may write to.", file="no-such-folder/kubeconfig", reason="No such file or directory"),
    message(cli.NO_CLUSTER, "There is no kubeconfig file no/such/file.", reason="There is no kubeconfig file no/such/file."),
    message(cli.NO_SCHEDULER_NAME, '"No Name" is no name that a pod\'s schedulerName could have. Write lower-case letters, digits, dashes and dots.', name="No Name"),
    message(cli.ONLY_FOR_ALL_FAMILIES, "It tells which single pods closeknit get workloads lists as a table, and has no effect here. Leave it out."),
    message(cli.NOT_FOR_ALL_FAMILIES, "The table of closeknit get workloads has no labels of objects. Leave it out, or name a kind, such as podgroups."),
    message(cli.NO_OPERATOR, '"slurm" is no family with an operator here. There are: dynamo, grove, kai, kueue, osmo.', name="slurm", known="dynamo, grove, kai, kueue, osmo"),
    message(cli.NOTHING_TO_RUN, "With --no-scheduler, and --no-controllers or --dry-run, there is nothing to do. Leave one of them out."),
    message(cli.LEASE_TIMES, "--lease-duration (15 s) must be at least 1 s longer than --renew-deadline (15 s), and that longer than --retry-period (2 s). Otherwise two instances could work at once.", duration="15", renew_deadline="15", retry_period="2", margin="1"),
    message(cli.CANNOT_LISTEN, "Port 34781 cannot be listened on: Address already in use. Name another one, or 0 for a free one.", port=34781, reason="Address already in use"),
    message(cli.NO_TOKEN, "The file is empty, and would ask nobody for a token. Write one into it."),
    message(cli.KEY_ALONE, "A key alone does not speak TLS. Name its certificate with --certificate as well."),
    message(cli.OPEN_TO_OTHERS, 'Others can reach "0.0.0.0". Give --token-file, --certificate and --key, or listen on 127.0.0.1.', host="0.0.0.0"),
    message(cli.NO_KUBERNETES_OBJECT, "This is no Kubernetes object: it has no kind."),
    message(cli.DRAWING_IS_DIRECTORY, "A drawing is a file, and this is a directory."),
    message(cli.DRAWING_NOT_UTF8, "Byte 7 is no UTF-8 text. Write the drawing in UTF-8.", byte=7),
    message(cli.NOT_A_LEVEL, '"" is not a level. Write NAME=NUMBER, such as rack=8.', word=""),
    message(cli.NOT_A_LEVEL_NAME, '"rack 1" is not a name of a level, because no node can have that label. Write letters, digits, dashes, dots and underscores, with a letter or digit at both ends, such as rack.', level="rack 1"),
    message(cli.LEVEL_NAMED_TWICE, 'Level "rack" is named twice. Name each level once.', level="rack"),
    message(cli.NOT_A_NUMBER_OF, '"0" is not a number of "rack". Write a whole number from 1 on.', number="0", level="rack"),
    message(cli.HOST_NOT_LAST, "host is the finest level. Name it last."),
    message(cli.NO_HOSTS, 'The finest level is "hst". End with the hosts in each, such as host=16.', level="hst"),
    message(cli.TOO_MANY_NODES, "That makes 2000000 nodes: each number counts the children of one parent, not all of them. At most 1000000 are made.", nodes=2000000, most=1000000),
    message(cli.UNKNOWN_TOPOLOGY, 'The files hold no topology "tt". Did you mean "t"? Allowed: "t".', holders="The files hold", topology="tt", remedy=OneOf(found="tt", allowed=("t",), more=0)),
    message(cli.NO_OPERATOR_SETTINGS, "A Node is no setting of an operator. Name a file with an OperatorConfiguration of Grove or Dynamo or a Configuration of Kueue, and put other objects into the cluster.", kind="Node"),
    message(cli.UNKNOWN_RESOURCE_NAME, 'No node has "nvidia.com/gpus". Did you mean "nvidia.com/gpu"? Allowed: "nvidia.com/gpu".', resource="nvidia.com/gpus", known=OneOf(found="nvidia.com/gpus", allowed=("nvidia.com/gpu",), more=0)),
    message(cli.UNKNOWN_POOL, 'The files hold no pool "trainign". Did you mean "training"? Allowed: "plain", "training".', holders="The files hold", pool="trainign", remedy=OneOf(found="trainign", allowed=("plain", "training"), more=0)),
    message(cli.AMBIGUOUS_WORKLOAD, '"twice" could be 2 workloads. Name one of them: "PodGroup/default/twice", "PodGroup/other/twice".', name="twice", count=2, names=("PodGroup/default/twice", "PodGroup/other/twice")),
    message(cli.NO_WORKLOADS, 'There is no workload "late": the cluster (context closeknit) holds no workload.', name="late", holders="the cluster (context closeknit) holds"),
    message(cli.UNKNOWN_WORKLOAD, 'There is no workload "trian" in the files. Did you mean "train"? Allowed: "train", "twice".', name="trian", place="the files", remedy=OneOf(found="trian", allowed=("train", "twice"), more=0)),
    message(cli.NOTHING_TO_READ, "Nothing is named to read. Name files with -f, or a cluster with --context or --kubeconfig."),
    message(cli.SHAPE_AND_CLUSTER, "--shape describes nodes that are made up, and the nodes of a cluster are asked for. Leave one of them out.", option="--shape"),
    message(cli.CLUSTER_NOT_REACHED, "The cluster (context closeknit) cannot be asked: https://127.0.0.1:34505 cannot be reached: Connection refused. Check that it runs, or name another one with --context or --kubeconfig.", cluster="The cluster (context closeknit)", reason="https://127.0.0.1:34505 cannot be reached: Connection refused"),
    message(cli.NOT_LOGGED_IN, "The cluster (context closeknit), https://127.0.0.1:41819, does not accept who asks: Unauthorized. Log in again, or name another one with --context or --kubeconfig.", cluster="The cluster (context closeknit)", address="https://127.0.0.1:41819", reason="Unauthorized"),
    message(cli.NOT_PERMITTED, "The cluster (context training) refused: nodes is forbidden. Have that permission granted, or ask as somebody else with --context.", cluster="The cluster (context training)", reason="nodes is forbidden"),
    message(cli.CLUSTER_REFUSED, 'The cluster (context closeknit) refused: unable to parse requirement of label selector "a in": expected: \'(\'', cluster="The cluster (context closeknit)", reason='unable to parse requirement of label selector "a in": expected: \'(\''),
    message(cli.UNKNOWN_RESOURCE, 'The cluster serves no kind "pdos". Did you mean "pods"? Allowed: "event", "events", "job", "jobs", "node", "nodes", "pod", "pods" and 2 more.', cluster="The cluster", kind="pdos", remedy=OneOf(found="pdos", allowed=("event", "events", "job", "jobs", "node", "nodes", "pod", "pods", "topologies", "topology"), more=0)),
    message(cli.AMBIGUOUS_RESOURCE, '"topology" could be 2 kinds. Name one of them: topologies.kai.scheduler, topologies.kueue.x-k8s.io.', kind="topology", count=2, names="topologies.kai.scheduler, topologies.kueue.x-k8s.io"),
    message(cli.NO_NAMESPACE_OF_OBJECT, 'There is no namespace "taem". Create it first, or write another one here; -n counts only where an object names none.', namespace="taem"),
    message(cli.UNSERVED_VERSION, "The cluster (context closeknit) does not serve Pdo of v1. Did you mean Pod?", cluster="The cluster (context closeknit)", kind="Pdo", version="v1", remedy="Did you mean Pod?"),
    message(cli.NO_SUCH_OBJECT, 'There is no Pod "wbe" in namespace default. Did you mean "web"?', kind="Pod", name="wbe", place="namespace default", remedy=' Did you mean "web"?'),
    message(cli.NO_SUCH_NAMESPACE, 'There is no namespace "taem". Create it first, or name another one with -n.', namespace="taem"),
    message(cli.NO_API_VERSION, "This is no Kubernetes object: it has no apiVersion. Write the one of its kind, such as v1 for a Pod."),
    message(cli.FIELDS_OF_OTHERS, 'Apply failed with 1 conflict: conflict with "other": .data.mode. Take those fields out, or take them over with --force-conflicts.', message='Apply failed with 1 conflict: conflict with "other": .data.mode.'),
    message(cli.NOTHING_TO_DELETE, "Nothing is named to delete. Name a KIND and a NAME, or files with -f."),
    message(cli.KIND_AND_FILES, "Both a kind and files are named. Give one of them."),
    message(cli.STILL_THERE, "It is still there after 1 s, held by example.com/hold. Its controller or node has not let it go yet.", seconds=1, finalizers=", held by example.com/hold"),
    message(cli.NO_WEBHOOK_URL, '"here" is no address of a webhook. Write one such as https://10.0.0.1:9443.', url="here"),
    message(cli.UNUSABLE_CERTIFICATE, "The certificate cannot be used. It ends tomorrow.", reason="It ends tomorrow."),
    message(cli.WEBHOOK_CANNOT_LISTEN, "Port 443 cannot be listened on: Permission denied. Name another one.", port=443, reason="Permission denied"),
]
# fmt: on


def test_every_message_reads_as_listed() -> None:
    assert mistakes("cli", MESSAGES) == []
