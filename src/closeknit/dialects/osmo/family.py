"""The OSMO family: its kinds, and the functions that read and write them."""

from __future__ import annotations

from closeknit.apis.osmo_closeknit_dev_v1alpha1 import Backend, Pool, Workflow
from closeknit.dialects.family import Family
from closeknit.dialects.osmo.compile import FAMILY, compile_workflow, makes
from closeknit.dialects.osmo.pools import GROUP, backend_problems, pool_problems, topologies
from closeknit.dialects.osmo.render import pool_to_kai, workflow_to_kai, workflow_to_pods
from closeknit.dialects.osmo.status import pool_status, workflow_status
from closeknit.dialects.wire.kinds import Kind, OwnFile


def _together(name: str) -> tuple[tuple[str, ...], ...]:
    """Where OSMO keeps several: answers of its server, also about quota; Helm values, old and new."""
    return ((name,), ("node_sets", name), ("services", "configs", name), ("configuration", name))


OSMO = Family(
    name=FAMILY,
    kinds=(
        Kind(
            GROUP,
            "Pool",
            ("v1alpha1",),
            Pool,
            namespaced=False,
            own_file=OwnFile("topology_keys", ("name",), unnamed="default", together=_together("pools")),
        ),
        Kind(
            GROUP,
            "Backend",
            ("v1alpha1",),
            Backend,
            namespaced=False,
            own_file=OwnFile("scheduler_settings", ("name",), together=_together("backends")),
        ),
        Kind(
            GROUP,
            "Workflow",
            ("v1alpha1",),
            Workflow,
            own_file=OwnFile("workflow", ("workflow", "name"), own_names=True),
            workload=True,
        ),
    ),
    topologies=topologies,
    check={Backend: backend_problems, Pool: pool_problems},
    compile={Workflow: compile_workflow},
    render={
        "kai": {Pool: pool_to_kai, Workflow: workflow_to_kai},
        "pods": {Workflow: workflow_to_pods},
    },
    status={Pool: pool_status, Workflow: workflow_status},
    makes=makes,
    claimed_by="kai",
)
