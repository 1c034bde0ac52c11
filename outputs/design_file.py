"""design.yaml: the design as resolved. Every default is spelled out and every `auto` is what the planner chose;
planning the file again gives the same plan, and resolving it again gives the same file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import yaml

from .. import __version__
from ..fabric.hall_spec import RowSpec
from ..fabric.tenant_numbers import shown
from ..layouts.fill import node_racks
from ..layouts.rack_choice import whole_racks
from ..layouts.racks import rack_types
from ..vendors.models import Switch
from . import DEFAULTS, Options

if TYPE_CHECKING:
    from ..fabric.access_spec import AccessSpec
    from ..fabric.design import FabricSpec
    from ..plan import Plan

HEADER = """\
# {name} as railplan {version} planned it: every default is spelled out, every auto is what was chosen.
# Planning this file again gives the same plan. Before changing the number of nodes or the style, set to auto what should
# follow from it: tiers, planes, nodes_per_su, rails_per_leaf; remove spines_per_plane and the rows of the hall.
"""

PLACES_HEADER = """\
# placement.places says where every device stands; remove it where devices shall find places anew.
"""


class _Compact(yaml.SafeDumper):
    """Writes the devices of one rack side by side."""


class _Rack(dict[str, int]):
    """Device -> its lowest unit."""


_Compact.add_representer(_Rack, lambda dumper, rack: dumper.represent_mapping("tag:yaml.org,2002:map", rack, flow_style=True))


def files(plan: Plan, options: Options = DEFAULTS) -> dict[str, bytes]:
    """Render design.yaml."""
    data = resolved(plan)
    header = HEADER.format(name=plan.design.name, version=__version__) + (PLACES_HEADER if data["placement"]["places"] else "")
    return {"design.yaml": (header + yaml.dump(data, Dumper=_Compact, sort_keys=False, allow_unicode=True, width=120)).encode()}


def resolved(plan: Plan) -> dict[str, Any]:
    """The design as plain data, nothing left to choose."""
    data: dict[str, Any] = plan.design.model_dump(mode="json")
    for group, given in zip([data["nodes"], *data["more_nodes"]], plan.design.node_groups, strict=True):
        group["name_width"] = given.width
    for tenant, planned in zip(data["tenants"], plan.tenancy.tenants, strict=True):
        tenant |= {"nodes_kind": planned.kind, **{kind: shown(kind, number) if kind == "pkey" else number for kind, number in planned.numbers.items()}}
    for name, spec in plan.design.rails.items():
        data["fabrics"][name] |= _fabric_choices(plan, name, spec)
    for name, access in plan.design.fabrics.others.items():
        data["fabrics"][name] |= _access_choices(plan, name, access)
    data["hall"] |= _hall_choices(plan)
    found = plan.placement.solution
    if found is not None and not found.is_repeatable:
        data["placement"]["places"] = _places(plan)
    return data


def _places(plan: Plan) -> dict[str, dict[str, int]]:
    """Rack -> its devices from the bottom, future ones included -> lowest unit."""
    stands = plan.placement.places.select("rack", "rack_no", "ru").with_columns(plan.topology.devices["device"]).sort("rack_no", "ru", maintain_order=True)
    return {str(rack): _Rack(here.select("device", "ru").iter_rows()) for (rack,), here in stands.partition_by("rack", as_dict=True, maintain_order=True).items()}


def _fabric_choices(plan: Plan, name: str, spec: FabricSpec) -> dict[str, Any]:
    """What sizing chose. One tier has neither SUs nor spines, so their fields stay open."""
    facts = plan.topology.fabrics[name]
    nic = next(iter(plan.topology.compute.profiles["node"].cages.values())).mode
    choices: dict[str, Any] = {
        "switch": facts.leaf_model,
        "spine_switch": facts.spine_model if facts.tiers > 1 else None,
        "tiers": facts.tiers,
        "planes": facts.planes,
        "nic_mode": nic.name,
        "rails_per_leaf": facts.rails_per_leaf,
        "uplink_gbps": facts.uplink_gbps,
        "switch_os": spec.switch_os or _switch_os(plan),
    }
    if facts.tiers > 1:
        choices |= {"nodes_per_su": facts.nodes_per_su, "spines_per_plane": facts.spines_per_plane}
    if facts.tiers > 2:
        choices |= {"core_switch": facts.core_model, "sus_per_group": facts.sus_per_group, "spine_groups": "rail" if facts.by_rail else "shared"}
    return choices


def _access_choices(plan: Plan, name: str, spec: AccessSpec) -> dict[str, Any]:
    """What sizing chose for a fabric other than compute."""
    facts = plan.topology.fabrics[name]
    choices: dict[str, Any] = {"switch": facts.leaf_model}
    if facts.tiers > 1:
        choices |= {"spine_switch": facts.spine_model, "spines": facts.spines_per_plane, "uplink_gbps": facts.uplink_gbps}
    elif spec.uplinks is not None:
        choices["uplinks"] = {**spec.uplinks.model_dump(mode="json"), "gbps": facts.uplink_gbps}
    return choices


def _switch_os(plan: Plan) -> str | None:
    """The operating system that names the ports; None where leaves and spines run different ones."""
    used = {profile.part.port_names[0].os for profile in plan.topology.compute.profiles.values() if isinstance(profile.part, Switch)}
    return used.pop() if len(used) == 1 else None


def _hall_choices(plan: Plan) -> dict[str, Any]:
    """Limits and fill of the racks, and the rows: those of a hall that was made to fit, or those of the design with the limits that whole racks of trays ask for."""
    hall = plan.placement.hall
    choices: dict[str, Any] = {"rack_power_kw": round(hall.limits.power_w / 1000, 6), "rack_weight_kg": hall.limits.weight_kg}
    kinds, notes = node_racks(plan.topology, hall.stands)
    numbers = {kind.per_rack for kind in kinds.values()}
    if not notes and len(numbers) == 1:
        choices["nodes_per_rack"] = numbers.pop()
    rows = whole_racks(plan.topology, rack_types(plan.design.hall, plan.catalog))[0].rows
    if not rows:
        made = hall.positions.group_by("row", maintain_order=True).agg(pl.len().alias("racks"), pl.col("x_m").first() - hall.rack_width_m / 2, pl.col("y_m").first())
        rows = tuple(RowSpec(name=name, racks=racks, x_m=round(x_m, 6), y_m=y_m) for name, racks, x_m, y_m in made.iter_rows())
    choices["rows"] = [row.model_dump(mode="json") for row in rows]
    return choices
