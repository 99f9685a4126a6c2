"""Messages about claims for devices and volumes."""

from __future__ import annotations

from closeknit.hub.sentences import claims
from tests.messages.table import message, mistakes

# fmt: off
MESSAGES = [
    message(claims.NO_SLICES, 'No ResourceSlice is in sight, so the devices of ResourceClaim "one" were not counted. Give the slices of the cluster, such as from kubectl get resourceslices -o yaml.', kind="ResourceClaim", name="one"),
    message(claims.NOT_IN_SIGHT, 'There is no DeviceClass "gpus" in sight, so what it asks of nodes is not counted. Create it, or give it beside the pods.', kind="DeviceClass", name="gpus"),
    message(claims.NOT_EVALUATED, 'The selector "device.x =" cannot be evaluated, so its devices were not counted. INVALID_ARGUMENT: ERROR: <input>:1:10: Syntax error: token recognition error at: \'=\'', expression="device.x =", why="INVALID_ARGUMENT: ERROR: <input>:1:10: Syntax error: token recognition error at: '='"),
    message(claims.GIVEN_UP, 'The selector "true" could not be evaluated for device "gpu-0", so its devices were not counted. INTERNAL: Iteration budget exceeded [INTERNAL] Write a simpler expression.', device="gpu-0", expression="true", why="INTERNAL: Iteration budget exceeded [INTERNAL]"),
    message(claims.TOO_MANY_STEPS, 'The selectors of class "gpus" and of the claim may take 300000000 steps for 1000 devices, and 100000000 steps are allowed for all claims together, the cheapest first. Its devices were not counted. Write simpler expressions.', devices=1000, most=100_000_000, name="gpus", steps=300_000_000),
    message(claims.NOT_LOCAL, 'Devices of class "gpus" can be used from several nodes, so they were not counted.', name="gpus"),
    message(claims.DEVICES_SHARED, 'Devices of class "gpus" take several claims at once (allowMultipleAllocations), so they were not counted. Choose a class without such devices.', name="gpus"),
    message(claims.COUNTERS_SHARED, 'Devices of class "gpus" share counters with others that are asked for (consumesCounters). Of those that share some, one at a time was counted.', name="gpus"),
    message(claims.UNEQUAL_NODES, 'ResourceClaim "one" asks for all devices of class gpus on a node, of which nodes have different numbers, so they were not counted.', device_class="gpus", kind="ResourceClaim", name="one"),
    message(claims.FIRST_OF_SEVERAL, 'ResourceClaim "one" accepts several kinds of devices. Only class model-a was counted, the first of which there are any.', device_class="model-a", kind="ResourceClaim", name="one"),
    message(claims.CONSTRAINT_NOT_COUNTED, 'ResourceClaim "one" wants devices that agree or differ in attribute "gpu.example.com/model", which was not counted.', attribute="gpu.example.com/model", kind="ResourceClaim", name="one"),
    message(claims.BINDING_CONDITIONS, 'Devices of class "gpus" must be prepared before a pod is bound (bindingConditions), which this scheduler does not wait for. Choose a class without such devices.', name="gpus"),
    message(claims.CAPACITY_NOT_COUNTED, 'ResourceClaim "gpus" asks for a part of a device (capacity), which was not counted.', kind="ResourceClaim", name="gpus"),
    message(claims.TOO_MANY_DEVICES, 'ResourceClaim "gpus" asks for more than 32 devices, which is more than a claim can get.', kind="ResourceClaim", name="gpus", most=32),
    message(claims.PARTED, "Too many selectors overlap to count their devices exactly, so some were kept for one selector alone."),
    message(claims.NOT_MADE, 'No ResourceClaim was made yet from ResourceClaimTemplate "each". The pod can be bound once kube-controller-manager has made it.', name="each"),
    message(claims.SHARED_ACROSS_GROUPS, 'ResourceClaim "both" is shared by pods of which none must run. They must run on one node, and were placed as if each had its own. Let a pod share it that must run.', name="both"),
    message(claims.NOT_CHOSEN, 'Node "n1" has not enough free devices for ResourceClaim "gpus".', node="n1", name="gpus"),
    message(claims.VOLUME_CLAIM_NOT_MADE, 'No PersistentVolumeClaim "p-v" was made yet for an ephemeral volume. The pod can be bound once kube-controller-manager has made it.', name="p-v"),
    message(claims.VOLUME_CLAIM_OF_OTHERS, 'PersistentVolumeClaim "p-v" was not made for the pod whose ephemeral volume needs a claim of that name. Delete the claim, or give the pod or its volume another name.', name="p-v"),
    message(claims.VOLUME_SELECTED, 'PersistentVolumeClaim "data" selects volumes by labels (spec.selector), and its class makes volumes, which have none. Leave the selector out, or choose a class without a provisioner.', name="data"),
    message(claims.VOLUME_NOT_FOUND, 'Node "n1" reaches no free volume for PersistentVolumeClaim "data".', node="n1", name="data"),
    message(claims.VOLUME_IMMEDIATE, 'PersistentVolumeClaim "data" has no volume yet, and its class binds volumes before pods are placed. Where it will be was not counted.', name="data"),
    message(claims.KEPT_BY_KUBELETS, 'Level "numa" of "s-0-w" lies below hosts. One host is chosen for it, and the topology manager of its kubelet keeps the level.', level="numa", group="s-0-w"),
]
# fmt: on


def test_every_message_reads_as_listed() -> None:
    assert mistakes("claims", MESSAGES) == []
