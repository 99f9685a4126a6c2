"""The same table for claims to devices and volumes."""

from __future__ import annotations

from tests.filters.cases import Case, asking, case, node, pod
from tests.filters.claims import (
    DRIVER,
    GPUS,
    LARGE,
    MODEL_B,
    NEW,
    OLD_ZONE,
    REGION,
    TAINT,
    ZONE,
    claim,
    claiming,
    csi_node,
    device,
    device_class,
    either,
    given_by,
    mounting,
    on_nodes,
    partitioned,
    request,
    resource_slice,
    selecting,
    storage_class,
    volume,
    volume_claim,
)


def in_parts(title: str, nodes: tuple[str, str, str], driver: str, asked: tuple[int, str], fit: str) -> Case:
    """Nodes with a device that can be given in parts: nothing of it is taken, one part, and all of it."""
    _, in_part, whole = nodes
    count, model = asked
    name = driver.partition(".")[0]
    return case(
        "DynamicResources",
        title,
        [node(each) for each in nodes],
        claiming(f"{name}-claim"),
        fit,
        [
            device_class(name, f"device.driver == '{driver}'"),
            *(made for each in nodes for made in partitioned(each, driver)),
            claim(f"{name}-claim", request(name, count, f"device.attributes['{driver}'].model == '{model}'")),
            given_by(driver, claim(f"taken-{in_part}", request(name), allocated=[(in_part, "part-1")])),
            given_by(driver, claim(f"taken-{whole}", request(name), allocated=[(whole, "whole")])),
        ],
    )


CLAIM_CASES: tuple[Case, ...] = (
    case(
        "DynamicResources",
        "a claim needs as many devices of its class as it asks for",
        [node("dra-a"), node("dra-b"), node("dra-c")],
        claiming("two"),
        "dra-a",
        [
            GPUS,
            resource_slice("dra-a", [device("0"), device("1")]),
            resource_slice("dra-b", [device("0")]),
            claim("two", request("gpus", 2)),
        ],
    ),
    case(
        "DynamicResources",
        "selectors are evaluated, with quantities and versions",
        [node("dra-d"), node("dra-e"), node("dra-f")],
        claiming("chosen"),
        "dra-d",
        [
            resource_slice("dra-d", [device("0"), device("1", "b", "80Gi")]),
            resource_slice("dra-e", [device("0", "b"), device("1", "a", "80Gi")]),
            resource_slice("dra-f", [device("0", "c", "20Gi")]),
            claim("chosen", request("gpus", 1, LARGE, MODEL_B, NEW)),
        ],
    ),
    case(
        "DynamicResources",
        "two requests of one claim need devices of their own, although selectors overlap",
        [node("dra-g"), node("dra-h"), node("dra-i")],
        claiming("both"),
        "dra-h dra-i",
        [
            resource_slice("dra-g", [device("0", "b", "80Gi"), device("1", "a")]),
            resource_slice("dra-h", [device("0", "b", "80Gi"), device("1", "a", "80Gi")]),
            resource_slice("dra-i", [device("0", "b"), device("1", "a", "80Gi")]),
            claim("both", request("gpus", 1, LARGE, name="main"), request("gpus", 1, MODEL_B, name="other")),
        ],
    ),
    case(
        "DynamicResources",
        "a claim that selects no device at all is not given any other",
        [node("dra-w")],
        claiming("absent"),
        "",
        [
            resource_slice("dra-w", [device("0"), device("1")]),
            claim("absent", request("gpus", 1, f"device.attributes['{DRIVER}'].model == 'absent'")),
            claim("present", request("gpus")),
        ],
    ),
    case(
        "DynamicResources",
        "devices that another claim has got are not free",
        [node("dra-j"), node("dra-k")],
        claiming("one"),
        "dra-k",
        [
            resource_slice("dra-j", [device("0")]),
            resource_slice("dra-k", [device("0"), device("1")]),
            claim("one", request("gpus")),
            claim("held-j", request("gpus"), allocated=[("dra-j", "0")]),
            claim("held-k", request("gpus"), allocated=[("dra-k", "1")]),
        ],
    ),
    case(
        "DynamicResources",
        "a claim that has its devices pins its pods to their node",
        [node("dra-l"), node("dra-m")],
        claiming("pinned"),
        "dra-l",
        [
            resource_slice("dra-l", [device("0")]),
            resource_slice("dra-m", [device("0")]),
            claim("pinned", request("gpus"), allocated=[("dra-l", "0")]),
        ],
    ),
    case(
        "DynamicResources",
        "a tainted device is taken only by who tolerates it",
        [node("dra-n"), node("dra-o")],
        claiming("healthy"),
        "dra-o",
        [
            resource_slice("dra-n", [device("0", taints=[TAINT])]),
            resource_slice("dra-o", [device("0")]),
            claim("healthy", request("gpus")),
        ],
    ),
    case(
        "DynamicResources",
        "who asks for all devices of a node needs all of them free",
        [node("dra-p"), node("dra-q"), node("dra-r")],
        claiming("all"),
        "dra-p",
        [
            device_class("whole", "device.driver == 'whole.example.com'"),
            *(
                resource_slice(name, [device("0"), device("1")], "whole.example.com")
                for name in ("dra-p", "dra-q")
            ),
            claim("all", request("whole", every=True)),
            {
                **claim("some", request("whole"), allocated=[("dra-q", "0")]),
                "status": {
                    "allocation": {
                        "devices": {
                            "results": [
                                {
                                    "request": "main",
                                    "driver": "whole.example.com",
                                    "pool": "dra-q",
                                    "device": "0",
                                }
                            ]
                        }
                    }
                },
            },
        ],
    ),
    case(
        "DynamicResources",
        "who asks for all devices of a node gets them where nodes have different numbers",
        [node("dra-aa"), node("dra-ab"), node("dra-ac")],
        claiming("each"),
        "dra-aa dra-ab",
        [
            device_class("varied", "device.driver == 'varied.example.com'"),
            resource_slice("dra-aa", [device("0"), device("1")], "varied.example.com"),
            resource_slice("dra-ab", [device("0")], "varied.example.com"),
            claim("each", request("varied", every=True)),
        ],
    ),
    case(
        "DynamicResources",
        "of several kinds of devices a node needs one, and as many as are asked for of that kind",
        [node("dra-ad"), node("dra-ae"), node("dra-af"), node("dra-ag"), node("dra-ah")],
        claiming("either"),
        "dra-ad dra-ae dra-ag",
        [
            *(
                device_class(
                    each,
                    f"device.attributes['kinds.example.com'].model == '{each}'"
                    " && device.driver == 'kinds.example.com'",
                )
                for each in ("big", "small")
            ),
            *(
                resource_slice(
                    name, [device(str(i), each) for i, each in enumerate(kinds)], "kinds.example.com"
                )
                for name, kinds in {
                    "dra-ad": ["big"],
                    "dra-ae": ["small", "small"],
                    "dra-af": ["small"],
                    "dra-ag": ["small", "small", "big"],
                }.items()
            ),
            claim("either", either(("big", 1), ("small", 2))),
        ],
    ),
    in_parts(
        "a device that is taken in parts is no longer given whole",
        ("dra-ai", "dra-aj", "dra-ak"),
        "parts.example.com",
        (1, "a"),
        "dra-ai",
    ),
    in_parts(
        "parts of a device are given until its counters are used up",
        ("dra-al", "dra-am", "dra-an"),
        "bits.example.com",
        (2, "part"),
        "dra-al dra-am",
    ),
    case(
        "DynamicResources",
        "who asks for all devices of a node tolerates the taints of all of them, or gets none",
        [node("dra-ao"), node("dra-ap")],
        claiming("untainted"),
        "dra-ap",
        [
            device_class("worn", "device.driver == 'worn.example.com'"),
            resource_slice("dra-ao", [device("0"), device("1", taints=[TAINT])], "worn.example.com"),
            resource_slice("dra-ap", [device("0")], "worn.example.com"),
            claim("untainted", request("worn", every=True)),
        ],
    ),
    case(
        "DynamicResources",
        "a resource that stands for a class is counted in devices where a node does not list it",
        [node("dra-s"), node("dra-t"), node("dra-u", gpu="0"), node("dra-v")],
        {"containers": [asking(limits={"example.com/fast": "2"})]},
        "dra-s dra-v",
        [
            device_class("fast", "device.driver == 'fast.example.com'", resource="example.com/fast"),
            resource_slice("dra-s", [device("0"), device("1")], "fast.example.com"),
            resource_slice("dra-t", [device("0")], "fast.example.com"),
            resource_slice("dra-v", [device("0"), device("1"), device("2")], "fast.example.com"),
        ],
    ),
    case(
        "VolumeBinding",
        "a bound volume is reached from the nodes of its affinity",
        [node("vol-a"), node("vol-b"), node("vol-c")],
        mounting("local", "wide"),
        "vol-b",
        [
            volume("local-volume", "local", **on_nodes("vol-a", "vol-b")),
            volume("wide-volume", "wide", **on_nodes("vol-b", "vol-c")),
            volume_claim("local", "local-volume"),
            volume_claim("wide", "wide-volume"),
        ],
    ),
    case(
        "VolumeBinding",
        "a volume that is made when its pod is placed is made where its class allows it",
        [node("vol-d", labels={ZONE: "z1"}), node("vol-e", labels={ZONE: "z2"}), node("vol-f")],
        mounting("late"),
        "vol-d",
        [storage_class("zonal", "disk.example.com", "z1", "z3"), volume_claim("late", class_name="zonal")],
    ),
    case(
        "VolumeBinding",
        "where volumes are not made but found, a free one of the class must be in reach",
        [node("vol-g"), node("vol-h"), node("vol-i")],
        mounting("found"),
        "vol-g",
        [
            storage_class("static", "kubernetes.io/no-provisioner"),
            volume("free-g", storageClassName="static", **on_nodes("vol-g")),
            volume("small-h", storageClassName="static", capacity={"storage": "1Gi"}, **on_nodes("vol-h")),
            volume("other-i", storageClassName="another", **on_nodes("vol-i")),
            volume_claim("found", class_name="static"),
        ],
    ),
    case(
        "VolumeBinding",
        "a free volume is found by its affinity, whatever the zone of its labels",
        [node("vol-r", labels={ZONE: "z2"}), node("vol-s", labels={ZONE: "z1"})],
        mounting("unzoned"),
        "vol-r",
        [
            storage_class("labelled", "kubernetes.io/no-provisioner"),
            volume("free-r", labels={ZONE: "z1"}, storageClassName="labelled", **on_nodes("vol-r")),
            volume_claim("unzoned", class_name="labelled"),
        ],
    ),
    case(
        "VolumeBinding",
        "a claim that selects volumes by labels finds those alone",
        [node("vol-y"), node("vol-z")],
        mounting("tiered"),
        "vol-z",
        [
            storage_class("tiers", "kubernetes.io/no-provisioner"),
            volume("slow-y", labels={"tier": "slow"}, storageClassName="tiers", **on_nodes("vol-y")),
            volume("fast-z", labels={"tier": "fast"}, storageClassName="tiers", **on_nodes("vol-z")),
            selecting(volume_claim("tiered", class_name="tiers"), tier="fast"),
        ],
    ),
    case(
        "VolumeZone",
        "a volume with a zone is used in that zone, and on nodes that are in none",
        [
            node("vol-j", labels={ZONE: "z1"}),
            node("vol-k", labels={ZONE: "z2"}),
            node("vol-l", labels={ZONE: "z3"}),
            node("vol-t"),
            node("vol-u", labels={REGION: "z1"}),
        ],
        mounting("zoned"),
        "vol-j vol-l vol-t",
        [volume("zoned-volume", "zoned", labels={ZONE: "z1__z3"}), volume_claim("zoned", "zoned-volume")],
    ),
    case(
        "VolumeZone",
        "a volume with the old label of a zone is used where a node has it by its old or its new name",
        [
            node("vol-v", labels={OLD_ZONE: "z1"}),
            node("vol-w", labels={ZONE: "z1"}),
            node("vol-x", labels={OLD_ZONE: "z2", ZONE: "z1"}),
        ],
        mounting("aged"),
        "vol-v vol-w",
        [volume("aged-volume", "aged", labels={OLD_ZONE: "z1"}), volume_claim("aged", "aged-volume")],
    ),
    case(
        "VolumeRestrictions",
        "a volume for one pod alone is not given to a second one",
        [node("vol-m"), node("vol-n")],
        mounting("alone"),
        "",
        [
            volume("alone-volume", "alone", accessModes=["ReadWriteOncePod"]),
            volume_claim("alone", "alone-volume", mode="ReadWriteOncePod"),
            pod("vol-user", {"nodeName": "vol-m", **mounting("alone")}),
        ],
    ),
    case(
        "NodeVolumeLimits",
        "a node takes as many volumes of a driver as it says",
        [node("vol-o"), node("vol-p"), node("vol-q")],
        mounting("extra"),
        "vol-p vol-q",
        [
            csi_node("vol-o", 1),
            csi_node("vol-p", 2),
            volume("extra-volume", "extra"),
            volume_claim("extra", "extra-volume"),
            *(
                each
                for name in ("vol-o", "vol-p")
                for each in (
                    volume(f"{name}-volume", f"{name}-claim"),
                    volume_claim(f"{name}-claim", f"{name}-volume"),
                    pod(f"{name}-user", {"nodeName": name, **mounting(f"{name}-claim")}),
                )
            ),
        ],
    ),
)
