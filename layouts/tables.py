"""Schemas of the room's tables: column, Polars type, and what it means.

`x_m` runs along the rows, `y_m` across them; rack units count from 1 at the bottom of the rack.
"""

from __future__ import annotations

import polars as pl

POSITIONS: dict[str, pl.DataType] = {
    "rack": pl.String(),  # name a rack has there: row and position, as A07
    "row": pl.String(),
    "row_no": pl.UInt32(),  # rows as the hall lists them, from 0
    "position": pl.Int32(),  # in the row, from 1
    "x_m": pl.Float64(),  # middle of the position
    "y_m": pl.Float64(),
    "blocked": pl.Boolean(),  # no rack can stand there
    "type": pl.String(),  # rack type of the catalog
    "height_ru": pl.Int32(),  # units of the rack
    "power_w": pl.Float64(),  # limits of the rack; infinite where there is none
    "weight_kg": pl.Float64(),
    "floor_kg": pl.Float64(),  # what the floor bears of what stands in the rack
    "air_w": pl.Float64(),  # heat that the air takes from the rack
    "row_air_w": pl.Float64(),  # the same of all racks of the row together
    "liquid": pl.Boolean(),  # liquid-cooled parts may stand there
    "width_m": pl.Float64(),  # of the rack
    "depth_m": pl.Float64(),
    "outer_m": pl.Float64(),  # outer height of the rack
}

SIZES: dict[str, pl.DataType] = {
    "dev": pl.UInt32(),  # number of the device: its row
    "height_ru": pl.Int32(),
    "power_w": pl.Float64(),  # highest draw, or the hall's assumed figure
    "weight_kg": pl.Float64(),  # without modules, or the hall's assumed figure
    "air_w": pl.Float64(),  # heat that goes to the air
    "liquid": pl.Boolean(),  # liquid must be there to cool it
}

RACKS: dict[str, pl.DataType] = {
    "rack": pl.String(),  # name, unique
    "row": pl.String(),
    "position": pl.Int32(),  # in the row, from 1
    "x_m": pl.Float64(),  # middle of the rack
    "y_m": pl.Float64(),
    "role": pl.String(),  # node as soon as a node stands in it, otherwise network
    "used_ru": pl.Int32(),  # of present devices, as power and weight
    "power_w": pl.Float64(),
    "weight_kg": pl.Float64(),
    "height_ru": pl.Int32(),  # units the rack has
    "reserved": pl.Boolean(),  # only future devices stand in it, PDUs aside
    "type": pl.String(),  # rack type of the catalog
}

PLACES: dict[str, pl.DataType] = {
    "dev": pl.UInt32(),  # number of the device: its row
    "rack": pl.String(),
    "rack_no": pl.UInt32(),  # row in RACKS
    "ru": pl.Int32(),  # lowest unit, from 1
    "height_ru": pl.Int32(),
    "power_w": pl.Float64(),
    "weight_kg": pl.Float64(),
}

ROUTES: dict[str, pl.DataType] = {
    "link": pl.UInt32(),  # number of the link in the fabric's LINKS; present links only
    "rack_a": pl.String(),
    "rack_b": pl.String(),
    "ru_a": pl.Int32(),
    "ru_b": pl.Int32(),
    "out_m": pl.Float64(),  # from the ports sideways to the vertical managers, both ends
    "up_m": pl.Float64(),  # from port a up to the tray; within a rack the height between the ports
    "along_m": pl.Float64(),  # trays along the rows
    "across_m": pl.Float64(),  # trays across the rows
    "down_m": pl.Float64(),  # from the tray down to port b
    "slack_m": pl.Float64(),
    "route_m": pl.Float64(),  # sum of the six
    "length_source": pl.String(),  # estimate or measured (then all of it stands in along_m)
}

SEGMENTS: dict[str, pl.DataType] = {
    "segment": pl.UInt32(),  # number of the segment: its row
    "tray": pl.String(),  # name; row-A and cross-1 where the hall lists no trays
    "x_m": pl.Float64(),  # the end with the least x and y, on the tray's middle line
    "y_m": pl.Float64(),
    "to_x_m": pl.Float64(),
    "to_y_m": pl.Float64(),
    "length_m": pl.Float64(),
    "height_m": pl.Float64(),  # bottom of the tray above the floor
    "width_mm": pl.Float64(),  # usable
    "depth_mm": pl.Float64(),  # usable side height
    "fill_percent": pl.Float64(),  # of width x depth that cables may take
}

TRAYS: dict[str, pl.DataType] = {
    "segment": pl.UInt32(),  # row in SEGMENTS
    "tray": pl.String(),
    "from": pl.String(),  # what is at its begin: racks and trays joined by +, or end
    "to": pl.String(),
    "cables": pl.Int64(),  # that lie in it: copper and optical
    "area_mm2": pl.Float64(),  # their cross-sections
    "capacity_mm2": pl.Float64(),  # width x depth x limit
    "fill_percent": pl.Float64(),  # area of width x depth
    "limit_percent": pl.Float64(),
    "of_limit_percent": pl.Float64(),  # area of capacity: more than 100 is too full
    "copper": pl.Int64(),  # cables
    "optical": pl.Int64(),  # fibres and active optical cables
    "copper_area_mm2": pl.Float64(),
    "weight_kg_per_m": pl.Float64(),  # of the cables; null where the catalog does not know it of all of them
    "length_m": pl.Float64(),
    "width_mm": pl.Float64(),
    "depth_mm": pl.Float64(),
    "x_m": pl.Float64(),  # the end with the least x and y, on the tray's middle line
    "y_m": pl.Float64(),
    "to_x_m": pl.Float64(),
    "to_y_m": pl.Float64(),
    "height_m": pl.Float64(),  # bottom of the tray above the floor
}

BUNDLES: dict[str, pl.DataType] = {
    "bundle": pl.String(),  # B and a number, by rack pair in hall order
    "a_rack": pl.String(),  # racks at end a; those of split cables joined by +
    "b_rack": pl.String(),
    "cables": pl.Int64(),  # two and more
    "kinds": pl.String(),  # joined by +
    "parts": pl.String(),  # catalog models with their number, joined by +
    "shortest_m": pl.Float64(),  # lengths as sold
    "longest_m": pl.Float64(),
    "diameter_mm": pl.Float64(),
    "weight_kg": pl.Float64(),  # of the cables at their sold lengths; null where the catalog does not know it
    "trays": pl.String(),  # in the order from a to b, by >; ways to several racks by |
}

CABLES: dict[str, pl.DataType] = {
    "cable_no": pl.UInt32(),  # number of the cable: its row
    "cable": pl.String(),  # id: series letter and number, unchanged by growth
    "fabric": pl.String(),
    "tier": pl.String(),
    "rail": pl.String(),  # rails served, joined by + where they differ; "" above the leaf
    "plane": pl.String(),  # planes served, joined by + where they differ (shuffles only); "" on fabrics without planes
    "a_device": pl.String(),  # several devices are joined by +, in the order of the ports
    "a_port": pl.String(),
    "a_rack": pl.String(),
    "a_ru": pl.String(),  # lowest unit of the device; "" for what takes none
    "b_device": pl.String(),
    "b_port": pl.String(),
    "b_rack": pl.String(),
    "b_ru": pl.String(),
    "gbps": pl.Int32(),  # of each link
    "links": pl.Int32(),  # links the cable carries
    "kind": pl.String(),  # dac, acc, aec, aoc, mmf, smf
    "part": pl.String(),  # catalog model
    "part_number": pl.String(),  # of that length, where known
    "length_m": pl.Float64(),  # as sold
    "route_m": pl.Float64(),  # longest route of its links
    "out_m": pl.Float64(),  # the longest route's breakdown, see ROUTES
    "up_m": pl.Float64(),
    "along_m": pl.Float64(),
    "across_m": pl.Float64(),
    "down_m": pl.Float64(),
    "slack_m": pl.Float64(),
    "length_source": pl.String(),
    "a_module": pl.String(),  # transceiver in the cage at end a; "" for copper
    "b_module": pl.String(),
    "a_label": pl.String(),
    "b_label": pl.String(),
    "bundle": pl.String(),  # row of BUNDLES; "" for a cable that runs alone or stays in its rack
}

MODULES: dict[str, pl.DataType] = {
    "dev": pl.UInt32(),
    "cage": pl.Int32(),
    "part": pl.String(),
    "connectors": pl.Int32(),
    "used_connectors": pl.Int32(),  # with a fibre in them
}

BOM: dict[str, pl.DataType] = {
    "category": pl.String(),  # node, switch, module, copper, fibre, licence
    "part": pl.String(),  # catalog model
    "description": pl.String(),
    "unit": pl.String(),  # what is counted: node, switch, module, cable, fibre
    "quantity": pl.Int64(),  # used by the plan
    "spares": pl.Int64(),  # ordered on top
    "unit_price": pl.Float64(),  # null: no price known
    "currency": pl.String(),
    "total": pl.Float64(),  # (quantity + spares) x unit_price, in its own currency
    "price_source": pl.String(),
    "part_number": pl.String(),  # the maker's order number where known
    "length_m": pl.Float64(),  # of cables and fibres; null otherwise
    "fabric": pl.String(),  # what a switch, module, cable or licence belongs to; "" for nodes, servers and PDUs
}
