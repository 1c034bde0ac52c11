"""The text of a complete cluster: GPU nodes, servers, and all fabrics, sized by the planning rules of the reference clusters."""

from __future__ import annotations

from collections.abc import Mapping

from ..vendors.catalog import Catalog
from ..vendors.references import load_references
from .new_design import DEFAULTS, design_text
from .sizing_rules import appliances, appliances_for_bandwidth, cpu_nodes, power_kw, storage_gbps, storage_gbps_of, storage_nodes

NORTH_SOUTH = {"tomahawk-5": "tomahawk-5", "tomahawk-6": "tomahawk-5"}
"""Family of the compute fabric -> that of the north-south fabric, which is Ethernet beside InfiniBand too; others: spectrum-x."""

INFINIBAND = ("quantum-ndr", "quantum-xdr")

SERVERS = """
# Servers on the other fabrics. `railplan catalog nodes MODEL` shows the ports of one; copy its file to enter your own.
# Coolant distribution units go here too: {{name: cdu, model: cdu-row, count: 2}}
servers:
  - {{name: cpu, model: cpu-node, count: {cpus}}}{cpus_why}
  - {{name: control, model: control-node, count: {controls}, racks_at_least: {control_racks}}}  # neither rack takes the control plane down
{storage}

pdus: {{model: pdu-rack, per_rack: 2}}  # in every rack, whatever stands there
"""

FABRICS = """
  # Front-end and storage: {gbps} Gb/s for each node over the two ports of its BlueField-3, which hang on two leaves.
  # RoCEv2 with MTU 9000; ports run at 400G, `gbps: 200` halves them (2 x 200G for each node) and their switches.
  north-south:
    serves: [inband, storage, frontend]
    family: {family}
    oversubscription: 1       # storage leaves carry all that hangs on them
    leaf_name: ns-leaf
    spine_name: ns-spine

  # Out of band, 1GbE: every BMC, management port of a switch, PDU and CDU. It lives when the others do not.
  oob:
    serves: [bmc, management, switch-management]
    switch: nvidia-sn2201
    spine_switch: nvidia-sn4600c
    spines: 2                 # one may fail
"""


def complete_text(reference: int, storage: str, flags: Mapping[str, object], catalog: Catalog, heading: str = "") -> str:
    """YAML text of a complete cluster, commented; raises DesignError where a flag names an unknown node.

    `reference` is the number of GPU nodes of the reference cluster, `storage` nodes or appliance; with a number of nodes
    among the flags the same rules size a cluster of that size, which is compared with none.
    """
    rules = load_references().rules
    given = {name: value for name, value in flags.items() if value is not None}
    nodes = int(str(given.get("nodes", reference)))
    values: dict[str, object] = {"name": f"cluster-{nodes}", "nodes": nodes, **given}
    family = str(values.get("family", DEFAULTS["family"]))
    model = str(values.get("node", DEFAULTS["node"]))
    if "planes" not in given and model == DEFAULTS["node"] and family not in INFINIBAND:
        values["planes"] = 2
    gpus = nodes * catalog.node(model).gpus
    top = [heading, f"# {nodes:,} GPU nodes, {gpus:,} GPUs, with all servers and fabrics of a complete cluster. GPU nodes alone: {power_kw(nodes, rules):,g} kW planned."]
    if nodes == reference:
        top += ["# The plan's counts and power are compared with the published ones.", f"reference: {reference}"]
    servers = SERVERS.format(
        cpus=cpu_nodes(nodes, rules),
        cpus_why=f"  # {rules.cpu_nodes_per_gpu_node.note}",
        controls=int(rules.control_nodes.value),
        control_racks=int(rules.control_racks.value),
        storage=_storage_lines(storage, gpus, catalog),
    )
    fabrics = FABRICS.format(gbps=int(rules.north_south_gbps_per_node.value), family=NORTH_SOUTH.get(family, "spectrum-x"))
    text = design_text(values, heading="\n".join(line for line in top if line), more=False)
    head, compute = text.split("fabrics:\n", 1)
    head = head.rstrip() + "\n  networks: [north-south, oob]       # planning stops when a node has no port for one of them\n"
    return f"{head}{servers}\nfabrics:\n  # East-west, between GPUs.\n{compute.rstrip()}\n{fabrics}"


def _storage_lines(storage: str, gpus: int, catalog: Catalog) -> str:
    """The line of storage nodes or appliances, and what it brings."""
    rules = load_references().rules
    asked = f"{float(storage_gbps(gpus, rules)):,g} Gb/s planned ({rules.storage_gbps_per_gpu.value:g} for each GPU)"
    if storage == "nodes":
        node = catalog.node("storage-node")
        count = storage_nodes(gpus, node, rules)
        brings = f"{count * (node.storage_raw_tb or 0):,g} TB raw ({rules.storage_raw_tb_per_gpu.value:g} for each GPU, at least {rules.storage_nodes_least.value:g} nodes)"
        return f"  # {brings}; {count * storage_gbps_of(node):,} Gb/s of {asked}\n  - {{name: storage, model: storage-node, count: {count}}}"
    node = catalog.node("storage-appliance")
    count, fast = appliances(gpus, node, rules), appliances_for_bandwidth(gpus, node, rules)
    more = f": take {fast} for all of it" if fast > count else ""
    brings = f"{count * (node.storage_usable_tb or 0):,g} TB usable ({rules.storage_usable_tb_per_gpu.value:g} for each GPU)"
    return f"  # {brings}; {count * storage_gbps_of(node):,} Gb/s of {asked}{more}\n  - {{name: storage, model: storage-appliance, count: {count}}}"
