"""The rules of a placement, free of any solver: the specification that every plan is checked against.

A rule is one function of topology and placement that returns problems; to add one, write it and name it in `RULES`.
Future devices count as if they were there: a reserved place must be a place.
"""

from __future__ import annotations

import polars as pl

from ..fabric.tables import SWITCHES
from ..fabric.topology import Topology
from ..problems import Problem, did_you_mean
from .cooling import COOLING_RULES
from .pins import PIN_RULES
from .placement import Placement, racks_of
from .sizes import device_sizes, kilo
from .together import pods_stand_together


def check_placement(topology: Topology, placement: Placement) -> list[Problem]:
    """Check a placement, however it was found, against every rule; an empty list means that it holds."""
    problems = [p for rule in FIRST_RULES for p in rule(topology, placement)]
    return problems or [p for rule in RULES for p in rule(topology, placement)]


def every_device_stands_once(topology: Topology, placement: Placement) -> list[Problem]:
    """Each device has exactly one place, in device order, and no place is for a device that doesn't exist."""
    name = dict(topology.devices.select("dev", "device").iter_rows())
    times = dict(placement.places.group_by("dev").len().iter_rows())
    problems = [Problem("device-unknown", f"device {dev}", "has a place but does not exist") for dev in times if dev not in name]
    problems += [Problem("device-placed-once", device, f"stands in {times.get(dev, 0)} places instead of one") for dev, device in name.items() if times.get(dev, 0) != 1]
    if not problems and placement.places["dev"].to_list() != topology.devices["dev"].to_list():
        problems.append(Problem("device-order", "places", "places are not in the order of the devices", "later tables find a place by its row"))
    return problems


def racks_stand_in_the_hall(topology: Topology, placement: Placement) -> list[Problem]:
    """Each rack stands once, on a position of the hall that is not blocked."""
    blocked = dict(placement.hall.positions.select("rack", "blocked").iter_rows())
    problems = []
    for rack in placement.racks["rack"].to_list():
        if rack not in blocked:
            problems.append(Problem("rack-unknown", rack, "is no position of the hall", fix=did_you_mean(rack, blocked)))
        elif blocked[rack]:
            problems.append(Problem("position-blocked", rack, "a rack stands on a blocked position", fix=f"move it, or take {rack} off the blocked positions"))
    twice = placement.racks.filter(pl.col("rack").is_duplicated())["rack"].unique(maintain_order=True)
    return problems + [Problem("rack-twice", rack, "is in the list of racks more than once") for rack in twice]


def places_name_their_rack(topology: Topology, placement: Placement) -> list[Problem]:
    """The rack number of a place is the row of the rack it names."""
    racks = placement.racks.select(true_name="rack").with_row_index("rack_no")
    wrong = placement.places.join(racks, on="rack_no", how="left").filter(pl.col("rack").ne_missing(pl.col("true_name")))
    return [
        Problem("rack-number", f"device {dev}", f"stands in {rack}, but rack {no} is {true or 'not listed'}")
        for dev, rack, no, true in wrong.select("dev", "rack", "rack_no", "true_name").iter_rows()
    ]


def places_have_the_devices_sizes(topology: Topology, placement: Placement) -> list[Problem]:
    """Height, power and weight of a place are its device's."""
    columns = ["height_ru", "power_w", "weight_kg"]
    true = device_sizes(topology)
    wrong = pl.any_horizontal((placement.places[c] - true[c]).abs().alias(c) > 1e-6 for c in columns)
    found = topology.devices.filter(pl.select(wrong).to_series())["device"]
    return [Problem("device-size", device, "its place has another height, power or weight than the device") for device in found]


def units_lie_inside_the_rack(topology: Topology, placement: Placement) -> list[Problem]:
    """No device hangs out of its rack, at the bottom or the top."""
    top = pl.col("ru") + pl.col("height_ru") - 1
    racks = placement.hall.positions.select("rack", rack_ru="height_ru")
    out = _named(topology, placement).join(racks, on="rack", how="left", maintain_order="left").filter((pl.col("ru") < 1) | (top > pl.col("rack_ru")))
    return [
        Problem("units-outside", device, f"takes U{ru} to U{ru + height - 1} of {rack}, which has {rack_ru} U")
        for device, rack, ru, height, rack_ru in out.select("device", "rack", "ru", "height_ru", "rack_ru").iter_rows()
    ]


def units_do_not_overlap(topology: Topology, placement: Placement) -> list[Problem]:
    """No unit of a rack holds two devices."""
    top = pl.col("ru") + pl.col("height_ru") - 1
    stacked = _named(topology, placement).filter(pl.col("height_ru") > 0).sort("rack_no", "ru", "dev").with_columns(top=top)
    below = stacked.with_columns(highest=pl.col("top").cum_max().shift(1).over("rack_no"), other=pl.col("device").shift(1).over("rack_no")).filter(
        pl.col("ru") <= pl.col("highest")
    )
    return [
        Problem("units-overlap", device, f"begins at U{ru} of {rack}, which is taken up to U{highest} (below it: {other})")
        for device, rack, ru, highest, other in below.select("device", "rack", "ru", "highest", "other").iter_rows()
    ]


def racks_stay_within_their_power(topology: Topology, placement: Placement) -> list[Problem]:
    """What stands or will stand in a rack draws no more than the rack may."""
    over = _sums(placement, "power_w").filter(pl.col("power_w") > pl.col("limit") + 1e-3)
    return [Problem("rack-power", rack, f"draws {kilo(power_w)} kW, a rack may draw {kilo(limit_w)} kW") for rack, power_w, limit_w in over.iter_rows()]


def racks_stay_within_their_weight(topology: Topology, placement: Placement) -> list[Problem]:
    """What stands or will stand in a rack weighs no more than the rack bears."""
    over = _sums(placement, "weight_kg").filter(pl.col("weight_kg") > pl.col("limit") + 1e-3)
    return [Problem("rack-weight", rack, f"holds {weight_kg:,.1f} kg, a rack may hold {limit_kg:,g} kg") for rack, weight_kg, limit_kg in over.iter_rows()]


def racks_hold_no_more_nodes_than_asked(topology: Topology, placement: Placement) -> list[Problem]:
    """The hall's own limit on nodes in a rack is kept."""
    asked = topology.design.hall.nodes_per_rack
    if asked == "auto":
        return []
    over = _named(topology, placement).filter(pl.col("role") == "node").group_by("rack", maintain_order=True).len().filter(pl.col("len") > asked)
    return [Problem("nodes-per-rack", rack, f"holds {count} nodes, the hall allows {asked}") for rack, count in over.iter_rows()]


def racks_hold_no_more_switches_than_asked(topology: Topology, placement: Placement) -> list[Problem]:
    """The hall's own limit on what a network rack holds is kept."""
    asked = topology.design.hall.switches_per_rack
    if asked == "auto":
        return []
    over = _named(topology, placement).filter(pl.col("role").is_in(SWITCHES)).group_by("rack", maintain_order=True).len().filter(pl.col("len") > asked)
    return [Problem("switches-per-rack", rack, f"holds {count} switches, the hall allows {asked}") for rack, count in over.iter_rows()]


def servers_stand_in_enough_racks(topology: Topology, placement: Placement) -> list[Problem]:
    """Servers of a kind stand in at least as many racks as the design asks, so that one rack does not take all of them down."""
    named = placement.places.with_columns(topology.devices["profile"])
    racks = dict(named.group_by("profile").agg(pl.col("rack").n_unique()).iter_rows())
    return [
        Problem("server-racks", f"servers.{i}.racks_at_least", f"{server.name} stands in {racks.get(f'server-{i}', 0)} racks, at least {server.racks_at_least} are asked for")
        for i, server in enumerate(topology.design.servers)
        if racks.get(f"server-{i}", 0) < server.racks_at_least
    ]


def every_rack_has_its_pdus(topology: Topology, placement: Placement) -> list[Problem]:
    """Each rack holds as many power distribution units as the design gives it."""
    if topology.design.pdus is None:
        return []
    each = topology.design.pdus.per_rack
    pdus = placement.places.filter(topology.devices["role"] == "pdu").group_by("rack").len()
    counted = placement.racks.select("rack").join(pdus, on="rack", how="left", maintain_order="left").with_columns(pl.col("len").fill_null(0)).filter(pl.col("len") != each)
    return [Problem("rack-pdus", rack, f"holds {count} PDUs, every rack gets {each}") for rack, count in counted.iter_rows()]


def rack_totals_add_up(topology: Topology, placement: Placement) -> list[Problem]:
    """The list of racks is what the places add up to."""
    spots = placement.racks.select("rack").join(placement.hall.positions, on="rack", how="left", maintain_order="left")
    true = racks_of(topology, spots, placement.places)
    if true.height != placement.racks.height:
        return [Problem("rack-totals", "racks", f"{placement.racks.height} racks listed, devices stand in {true.height}")]
    wrong = [rack for rack, listed, added in zip(true["rack"], placement.racks.iter_rows(), true.iter_rows(), strict=True) if listed != added]
    return [Problem("rack-totals", rack, "its totals differ from what stands in it") for rack in wrong]


FIRST_RULES = (every_device_stands_once, racks_stand_in_the_hall, places_name_their_rack)
"""What the other rules build on; when one of these fails, the others have nothing to say."""

RULES = (
    places_have_the_devices_sizes,
    units_lie_inside_the_rack,
    units_do_not_overlap,
    racks_stay_within_their_power,
    racks_stay_within_their_weight,
    racks_hold_no_more_nodes_than_asked,
    racks_hold_no_more_switches_than_asked,
    servers_stand_in_enough_racks,
    every_rack_has_its_pdus,
    rack_totals_add_up,
    *COOLING_RULES,
    *PIN_RULES,
    pods_stand_together,
)


def _named(topology: Topology, placement: Placement) -> pl.DataFrame:
    return placement.places.join(topology.devices.select("dev", "device", "role"), on="dev", how="left", maintain_order="left")


def _sums(placement: Placement, column: str) -> pl.DataFrame:
    """What the racks in use add up to, with the limit of each: columns rack, `column`, limit."""
    sums = placement.places.group_by("rack", maintain_order=True).agg(pl.col(column).sum())
    return sums.join(placement.hall.positions.select("rack", limit=column), on="rack", how="left", maintain_order="left")
