"""What the command line says of its own arguments, and of files."""

from __future__ import annotations

from closeknit.hub.problems import Code

# fmt: off
STDIN_TWICE = Code("stdin-twice", "Standard input is named twice, but can be read once. Name it once.")
OLD_FROM_STDIN = Code("old-from-stdin", "Two versions cannot be compared where one is standard input. Name files.")
UNREADABLE_DIRECTORY = Code("unreadable-directory", "The directory cannot be read: {reason:raw}.")
EMPTY_DIRECTORY = Code("empty-directory", "The directory holds no file that ends in {suffixes:raw}. Directories inside it are not read; name them with -f as well.")
NO_SUCH_FILE = Code("no-such-file", "There is no such file or directory.{remedy:raw}")
UNREADABLE_FILE = Code("unreadable-file", "The file cannot be read: {reason:raw}.")
UNWRITABLE_FILES = Code("unwritable-files", "The files cannot be written: {reason:raw}.")

SHAPE_AND_DRAWING = Code("shape-and-drawing", "--shape and --drawing are both given. Give one of them.")
LEVELS_OF_SHAPE = Code("levels-of-shape", "--levels names the levels of a drawing; a shape names its own. Leave --levels out.")
NEITHER_SHAPE_NOR_DRAWING = Code("neither-shape-nor-drawing", "Neither --shape nor --drawing is given. Give one of them, such as --shape rack=2,host=4.")
NODES_AND_DRAWING = Code("nodes-and-drawing", "--nodes and --drawing are both given. Give one of them.")
KUBECONFIG_OF_OTHERS = Code("kubeconfig-of-others", "{file:raw} holds something else and is left alone. Name another file.")
UNUSABLE_STATE = Code("unusable-state", "{reason:raw}")
CANNOT_BE_SERVED = Code("cannot-be-served", "The cluster cannot be served: {reason:raw}.")
NO_CLUSTER = Code("no-cluster", "{reason:raw}")
NO_SCHEDULER_NAME = Code("no-scheduler-name", "{name} is no name that a pod's schedulerName could have. Write lower-case letters, digits, dashes and dots.")
CANNOT_LISTEN = Code("cannot-listen", "Port {port} cannot be listened on: {reason:raw}. Name another one, or 0 for a free one.")
NO_KUBERNETES_OBJECT = Code("no-kubernetes-object", "This is no Kubernetes object: it has no kind.")
DRAWING_IS_DIRECTORY = Code("drawing-is-directory", "A drawing is a file, and this is a directory.")
DRAWING_NOT_UTF8 = Code("drawing-not-utf8", "Byte {byte} is no UTF-8 text. Write the drawing in UTF-8.")
NOT_A_LEVEL = Code("not-a-level", "{word} is not a level. Write NAME=NUMBER, such as rack=8.")
LEVEL_NAMED_TWICE = Code("level-named-twice", "Level {level} is named twice. Name each level once.")
NOT_A_NUMBER_OF = Code("not-a-number-of", "{number} is not a number of {level}. Write a whole number from 1 on.")
HOST_NOT_LAST = Code("host-not-last", "host is the finest level. Name it last.")
NO_HOSTS = Code("no-hosts", "The finest level is {level}. End with the hosts in each, such as host=16.")
TOO_MANY_NODES = Code("too-many-nodes", "That makes {nodes} nodes: each number counts the children of one parent, not all of them. At most {most} are made.")

UNKNOWN_TOPOLOGY = Code("unknown-topology-in-files", "{holders:raw} no topology {topology}. {remedy}")
AMBIGUOUS_WORKLOAD = Code("ambiguous-workload", "{name} could be {count} workloads. Name one of them: {names}.")
NO_WORKLOADS = Code("no-workloads", "There is no workload {name}: {holders:raw} no workload.")
UNKNOWN_WORKLOAD = Code("unknown-workload", "There is no workload {name} in {place:raw}. {remedy}")

NOTHING_TO_READ = Code("nothing-to-read", "Nothing is named to read. Name files with -f, or a cluster with --context or --kubeconfig.")
SHAPE_AND_CLUSTER = Code("shape-and-cluster", "{option:raw} describes nodes that are made up, and the nodes of a cluster are asked for. Leave one of them out.")
NO_CLUSTER = Code("no-cluster", "{reason:raw}")
CLUSTER_NOT_REACHED = Code("cluster-not-reached", "{cluster:raw} cannot be asked: {reason:raw}. Check that it runs, or name another one with --context or --kubeconfig.")
NOT_LOGGED_IN = Code("not-logged-in", "{cluster:raw}, {address:raw}, does not accept who asks: {reason:raw}. Log in again, or name another one with --context or --kubeconfig.")
NOT_PERMITTED = Code("not-permitted", "{cluster:raw} refused: {reason:raw}. Have that permission granted, or ask as somebody else with --context.")
CLUSTER_REFUSED = Code("cluster-refused", "{cluster:raw} refused: {reason:raw}")

UNKNOWN_RESOURCE = Code("unknown-resource", "{cluster:raw} serves no kind {kind}. {remedy}")
AMBIGUOUS_RESOURCE = Code("ambiguous-resource", "{kind} could be {count} kinds. Name one of them: {names:raw}.")
UNSERVED_VERSION = Code("unserved-version", "{cluster:raw} does not serve {kind:raw} of {version:raw}. {remedy:raw}")
NO_SUCH_OBJECT = Code("no-such-object", "There is no {kind:raw} {name} in {place:raw}.{remedy:raw}")
NO_SUCH_NAMESPACE = Code("no-such-namespace", "There is no namespace {namespace}. Create it first, or name another one with -n.")
UNNAMED_OBJECT = Code("unnamed-object", "The object has no name. Give it one.")
NO_API_VERSION = Code("no-api-version", "This is no Kubernetes object: it has no apiVersion. Write the one of its kind, such as v1 for a Pod.")
FIELDS_OF_OTHERS = Code("fields-of-others", "{message:raw} Take those fields out, or take them over with --force-conflicts.")
NOTHING_TO_DELETE = Code("nothing-to-delete", "Nothing is named to delete. Name a KIND and a NAME, or files with -f.")
KIND_AND_FILES = Code("kind-and-files", "Both a kind and files are named. Give one of them.")
STILL_THERE = Code("still-there", "It is still there after {seconds} s{finalizers:raw}. Its controller or node has not let it go yet.")
