"""Claims to devices and volumes: what could not be counted, and why."""

from __future__ import annotations

from closeknit.hub.problems import Code, Severity

# fmt: off
NO_SLICES = Code("no-slices", "No ResourceSlice is in sight, so the devices of {kind:raw} {name} were not counted. Give the slices of the cluster, such as from kubectl get resourceslices -o yaml.")
NOT_IN_SIGHT = Code("not-in-sight", "There is no {kind:raw} {name} in sight, so what it asks of nodes is not counted. Create it, or give it beside the pods.")
NOT_EVALUATED = Code("selector-not-evaluated", "The selector {expression} cannot be evaluated, so its devices were not counted. {why:raw}")
GIVEN_UP = Code("selector-given-up", "The selector {expression} could not be evaluated for device {device}, so its devices were not counted. {why:raw} Write a simpler expression.")
TOO_MANY_STEPS = Code("selector-steps", "The selectors of class {name} and of the claim may take {steps:raw} steps for {devices:raw} devices, and {most:raw} steps are allowed for all claims together, the cheapest first. Its devices were not counted. Write simpler expressions.")
NOT_LOCAL = Code("devices-not-local", "Devices of class {name} can be used from several nodes, so they were not counted.")
DEVICES_SHARED = Code("devices-shared", "Devices of class {name} take several claims at once (allowMultipleAllocations), so they were not counted. Choose a class without such devices.")
COUNTERS_SHARED = Code("counters-shared", "Devices of class {name} share counters with others that are asked for (consumesCounters). Of those that share some, one at a time was counted.")
UNEQUAL_NODES = Code("unequal-nodes", "{kind:raw} {name} asks for all devices of class {device_class:raw} on a node, of which nodes have different numbers, so they were not counted.")
FIRST_OF_SEVERAL = Code("first-of-several", "{kind:raw} {name} accepts several kinds of devices. Only class {device_class:raw} was counted, the first of which there are any.")
CONSTRAINT_NOT_COUNTED = Code("constraint-not-counted", "{kind:raw} {name} wants devices that agree or differ in attribute {attribute}, which was not counted.")
BINDING_CONDITIONS = Code("binding-conditions", "Devices of class {name} must be prepared before a pod is bound (bindingConditions), which this scheduler does not wait for. Choose a class without such devices.")
CAPACITY_NOT_COUNTED = Code("capacity-not-counted", "{kind:raw} {name} asks for a part of a device (capacity), which was not counted.")
TOO_MANY_DEVICES = Code("too-many-devices", "{kind:raw} {name} asks for more than {most} devices, which is more than a claim can get.")
PARTED = Code("devices-parted", "Too many selectors overlap to count their devices exactly, so some were kept for one selector alone.")
NOT_MADE = Code("claim-not-made", "No ResourceClaim was made yet from ResourceClaimTemplate {name}. The pod can be bound once kube-controller-manager has made it.")
SHARED_ACROSS_GROUPS = Code("claim-shared-across", "ResourceClaim {name} is shared by pods of which none must run. They must run on one node, and were placed as if each had its own. Let a pod share it that must run.")
NOT_CHOSEN = Code("devices-not-chosen", "Node {node} has not enough free devices for ResourceClaim {name}.")
VOLUME_CLAIM_NOT_MADE = Code("volume-claim-not-made", "No PersistentVolumeClaim {name} was made yet for an ephemeral volume. The pod can be bound once kube-controller-manager has made it.")
VOLUME_CLAIM_OF_OTHERS = Code("volume-claim-of-others", "PersistentVolumeClaim {name} was not made for the pod whose ephemeral volume needs a claim of that name. Delete the claim, or give the pod or its volume another name.")
VOLUME_SELECTED = Code("volume-selected", "PersistentVolumeClaim {name} selects volumes by labels (spec.selector), and its class makes volumes, which have none. Leave the selector out, or choose a class without a provisioner.")
VOLUME_NOT_FOUND = Code("volume-not-found", "Node {node} reaches no free volume for PersistentVolumeClaim {name}.")
VOLUME_IMMEDIATE = Code("volume-immediate", "PersistentVolumeClaim {name} has no volume yet, and its class binds volumes before pods are placed. Where it will be was not counted.")
KEPT_BY_KUBELETS = Code("kept-by-kubelets", "Level {level} of {group} lies below hosts. One host is chosen for it, and the topology manager of its kubelet keeps the level.", Severity.NOTE)
