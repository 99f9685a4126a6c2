"""What people do with kubectl, in an order in which it makes sense."""

from __future__ import annotations

import json
from dataclasses import dataclass

from tests.conformance.cluster import DEFINITIONS

NAMESPACE = "script"


@dataclass(frozen=True)
class Command:
    """One call of kubectl, and what it gets to read."""

    words: tuple[str, ...]
    reads: str = ""
    agreed: str = ""
    """What both say, where the rest is in each server's own words: the embedded one copies no sentences."""

    def __str__(self) -> str:
        return "kubectl " + " ".join(self.words)


def _run(line: str, reads: object = None, *, agreed: str = "") -> Command:
    """Words are parted by blanks; JSON has none where it stands in a line."""
    text = reads if isinstance(reads, str) else "" if reads is None else json.dumps(reads)
    return Command(tuple(line.split()), text, agreed)


_CONFIG = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "settings", "labels": {"app": "web"}},
    "data": {"color": "red", "size": "large"},
}
_POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "labels": {"app": "web"}},
    "spec": {
        "containers": [
            {
                "name": "main",
                "image": "example.invalid/web:1",
                "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}},
            }
        ]
    },
}
_NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "script-node", "labels": {"example.com/rack": "r1"}},
}
_WIDGET = {
    "apiVersion": "conformance.closeknit.dev/v1",
    "kind": "Widget",
    "metadata": {"name": "gear"},
    "spec": {"size": "small", "parts": [{"name": "tooth", "weight": 3}]},
}
_BAD_WIDGET = {**_WIDGET, "metadata": {"name": "bad"}, "spec": {"size": "medium", "color": "RED", "extra": 1}}
_SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "pass"},
    "stringData": {"word": "sesame"},
}

COMMANDS = [
    _run("create namespace script"),
    _run("create namespace script"),
    _run("get namespace script"),
    _run("get namespace script -o jsonpath={.status.phase}"),
    _run("get namespaces nowhere"),
    # A first object, by every verb.
    _run("create -f -", _CONFIG),
    _run("create -f -", _CONFIG),
    _run("get configmaps"),
    _run("get cm settings"),
    _run("get cm -o name"),
    _run("get cm settings -o jsonpath={.data.color}"),
    _run("get cm settings -o yaml"),
    _run("get cm settings -o json"),
    _run("get cm --show-labels"),
    _run("get cm -l app=web"),
    _run("get cm -l app!=web"),
    _run("get cm -l bad=="),
    _run("get cm --field-selector metadata.name=settings"),
    _run("describe cm settings"),
    _run("label cm settings tier=front"),
    _run("label cm settings tier=back"),
    _run("label cm settings tier=back --overwrite"),
    _run("label cm settings tier-"),
    _run("annotate cm settings note=hello"),
    _run('patch cm settings --type=merge -p {"data":{"color":"blue"}}'),
    _run('patch cm settings --type=json -p [{"op":"remove","path":"/data/size"}]'),
    _run(
        'patch cm settings --type=json -p [{"op":"test","path":"/data/color","value":"no"}]',
        agreed="The request is invalid: the server rejected our request due to an error in our request",
    ),
    _run('patch cm settings -p {"data":{"shape":"round"}}'),
    _run("get cm settings -o jsonpath={.data}"),
    _run("replace -f -", {**_CONFIG, "data": {"color": "green"}}),
    _run("diff -f -", {**_CONFIG, "data": {"color": "green"}}),
    _run("apply -f -", {**_CONFIG, "data": {"color": "black"}}),
    _run("apply -f -", {**_CONFIG, "data": {"color": "black"}}),
    _run("apply --server-side -f -", {**_CONFIG, "data": {"color": "white"}}),
    _run("apply --server-side --force-conflicts -f -", {**_CONFIG, "data": {"color": "white"}}),
    _run("apply --server-side --field-manager=other -f -", {**_CONFIG, "data": {"color": "pink"}}),
    _run("apply --dry-run=server -f -", {**_CONFIG, "data": {"color": "gray"}}),
    _run("get cm settings -o jsonpath={.data.color}"),
    _run("create configmap made --from-literal=a=1 --from-literal=b=2"),
    _run("create secret generic open --from-literal=a=1"),
    _run("create -f -", _SECRET),
    _run("get secrets"),
    _run("describe secret pass"),
    _run("get secret pass -o jsonpath={.data.word}"),
    # Pods, which stay pending because nobody schedules them.
    _run("apply -f -", _POD),
    _run("get pods"),
    _run("get pods -o wide"),
    _run("get pod web -o jsonpath={.status.phase}{.status.qosClass}"),
    _run("get pods --field-selector status.phase=Pending -o name"),
    _run("get pods --field-selector spec.nodeName!= -o name"),
    _run("get pods --field-selector spec.color=red"),
    _run("describe pod web"),
    _run("run single --image=example.invalid/single --restart=Never"),
    _run("set image pod/web main=example.invalid/web:2"),
    _run(
        'patch pod web -p {"spec":{"nodeName":"script-node"}}',
        agreed='The Pod "web" is invalid: spec: Forbidden: ',
    ),
    _run('patch pod web -p {"spec":{"containers":[{"name":"main","image":"example.invalid/web:3"}]}}'),
    _run("get pod web -o jsonpath={.spec.containers[0].image}"),
    _run("wait pod/web --for=jsonpath={.status.phase}=Pending --timeout=5s"),
    _run("wait pod/web --for=condition=Ready --timeout=1s"),
    _run("get pods,cm -o name"),
    # Nodes.
    _run("create -f -", _NODE),
    _run("get node script-node"),
    _run("get node script-node --show-labels"),
    _run("taint node script-node dedicated=gpu:NoSchedule"),
    _run("taint node script-node dedicated=gpu:NoSchedule"),
    _run("get node script-node -o jsonpath={.spec.taints}"),
    _run("cordon script-node"),
    _run("get node script-node"),
    _run("uncordon script-node"),
    _run("taint node script-node dedicated-"),
    # Custom resources.
    _run("get widgets"),
    _run("create -f -", _WIDGET),
    _run("get widgets"),
    _run("get wd gear -o jsonpath={.spec}"),
    _run("get widgets.conformance.closeknit.dev gear -o name"),
    _run("create -f -", _BAD_WIDGET),
    _run("create --validate=false -f -", _BAD_WIDGET),
    _run("scale widget gear --replicas=3"),
    _run("get wd gear -o jsonpath={.spec.replicas}"),
    _run("scale widget gear --replicas=30"),
    _run('patch wd gear --type=merge -p {"spec":{"size":"large"}}'),
    _run('patch wd gear --type=merge --subresource=status -p {"status":{"phase":"Ready"}}'),
    _run("get wd gear -o jsonpath={.status.phase}"),
    _run("wait wd/gear --for=jsonpath={.status.phase}=Ready --timeout=5s"),
    _run("explain widget.spec.size"),
    _run("explain pods.spec.nodeName", agreed="FIELD: nodeName <string>"),
    _run("api-resources --api-group=conformance.closeknit.dev"),
    _run("get nonsense"),
    _run("create -f -", {"apiVersion": "nobody.dev/v1", "kind": "Thing", "metadata": {"name": "t"}}),
    _run(
        "create -f -",
        {**_POD, "metadata": {"name": "Bad Name"}},
        agreed='The Pod "Bad Name" is invalid: metadata.name: Invalid value: "Bad Name": ',
    ),
    _run("create -f -", {**_POD, "metadata": {"name": "typo"}, "spec": {"containres": []}}),
    # Going.
    _run("delete pod web --wait=true"),
    _run("delete pod web"),
    _run("delete pod web --ignore-not-found"),
    _run("delete cm -l app=web"),
    _run("delete cm,secrets --all"),
    _run("delete wd gear --cascade=foreground"),
    _run("delete node script-node"),
    _run("get all"),
    _run("get cm"),
    _run("delete namespace script --wait=true --timeout=60s"),
    _run("get namespace script"),
]

SETUP = [
    *(_run("apply --server-side -f -", definition) for definition in DEFINITIONS),
    _run("wait --for=condition=Established crd --all --timeout=30s"),
]
