"""What OSMO's service does in a cluster: pools become Topologies and Queues, workflows PodGroups and Pods."""

from __future__ import annotations

from closeknit.apis.osmo_closeknit_dev_v1alpha1 import Pool, Workflow
from closeknit.controllers.osmo import pools, workflows
from closeknit.controllers.runtime.controller import Controller, Operator

OPERATOR = Operator(
    "osmo",
    (
        Controller("osmo-pool", Pool, pools.observe, pools.decide),
        Controller("osmo-workflow", Workflow, workflows.observe, workflows.decide),
    ),
)
