"""What one part is: switches, nodes, modules, copper, fibres and prices as frozen pydantic models.

Every part file carries `evidence`: rows that name the fields they cover, the source (a key of
`sources.yaml`), the date it was checked and how sure we are. A field without evidence is refused.
"""

from __future__ import annotations

import re
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

Confidence = Literal["vendor", "secondary", "derived", "unverified"]
"""vendor: read in a vendor's own document or file; secondary: a transcription or reseller;
derived: follows by arithmetic; unverified: nobody could check it (plans that use it warn)."""

Protocol = Literal["ethernet", "infiniband"]
Cooling = Literal["finned", "flat", "fixed"]
"""What a cage takes: finned (IHS) modules, flat-top (RHS) modules, or fixed optics with no cage."""

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.+-]*$", max_length=64)]
Positive = Annotated[float, Field(gt=0, le=1e9)]
PlainText = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9/:._ -]*$", max_length=64)]
"""Labels and port names: nothing that a table, a shell or a list joined by + would trip over."""
Count = Annotated[int, Field(gt=0)]


class Frozen(BaseModel):
    """Base of all that is read: frozen, unknown fields refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _true_is_no_number(cls, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, bool) and cls.model_fields[str(info.field_name)].annotation is not bool:
            raise ValueError(f"{str(value).lower()} is yes or no, not a number or a word | write the number, or quote the word")
        return value


class SourceDoc(Frozen):
    """A document that facts come from."""

    title: str
    url: str | None = None
    date: date


class Evidence(Frozen):
    """Which document says what: `fields` are top-level field names of the part."""

    fields: tuple[str, ...] = Field(min_length=1)
    source: str
    checked: date
    confidence: Confidence
    note: str | None = None


class Part(Frozen):
    """What every part has; a file is named `MODEL.yaml`."""

    model: Name
    vendor: str
    description: str
    part_numbers: tuple[str, ...] = ()
    status: Literal["shipping", "announced", "planned", "unknown"] = "shipping"
    cautions: tuple[str, ...] = ()
    """Known conflicts or traps; each is shown as a warning in plans that use the part."""
    evidence: tuple[Evidence, ...]

    @model_validator(mode="after")
    def _evidence_covers_every_datum(self) -> Part:
        free = {"model", "vendor", "description", "role", "cautions", "evidence"}
        given = {n for n in self.model_fields_set if n not in free and getattr(self, n) not in (None, ())}
        covered = [f for row in self.evidence for f in row.fields]
        unknown = sorted(set(covered) - set(type(self).model_fields))
        if unknown:
            raise ValueError(f"evidence names fields that {self.model} does not have: {', '.join(unknown)}")
        twice = sorted({f for f in covered if covered.count(f) > 1})
        if twice:
            raise ValueError(f"evidence covers {', '.join(twice)} twice | keep one row for each field")
        missing = sorted(given - set(covered))
        if missing:
            raise ValueError(f"no evidence for {', '.join(missing)} | add source, checked and confidence for them")
        return self

    def __hash__(self) -> int:
        return hash((type(self), self.model))

    def confidence_of(self, field: str) -> Confidence:
        """Confidence of one datum; `unverified` when no evidence names it."""
        return next((row.confidence for row in self.evidence if field in row.fields), "unverified")


MANAGEMENT_CAGE = 9001
"""Number of a switch's first management socket: beyond every data cage, the largest chassis has 1,024."""


class Breakout(Frozen):
    """One way to run a cage: `ports` logical ports of `gbps`, each on `lanes` lanes of `lane_gbps`."""

    ports: Count
    gbps: Count
    lanes: Count
    lane_gbps: Count
    cages: Literal["all", "odd", "even"] = "all"
    blocks_next: bool = False
    """True when the next cage is dead while this mode is in use (8-way splits of some boxes)."""
    disputed: str | None = None
    """Set when sources contradict each other; the mode is used only if asked for, with this warning."""

    @property
    def name(self) -> str:
        """`2x400G`."""
        return f"{self.ports}x{self.gbps}G"

    @model_validator(mode="after")
    def _lanes_carry_the_speed(self) -> Breakout:
        if self.lanes * self.lane_gbps < self.gbps:
            raise ValueError(f"{self.lanes} lanes of {self.lane_gbps}G carry less than {self.gbps}G")
        return self


class PowerClass(Frozen):
    """A cage subset with its own limit on module power."""

    cages: tuple[Count, ...]
    max_module_w: Positive


class CageGroup(Frozen):
    """A run of equal cages, numbered on the faceplate from `first`."""

    first: int = Field(ge=0)
    count: Count
    form: Literal["osfp", "osfp224", "qsfp112", "qsfp-dd", "qsfp56", "qsfp28", "sfp28", "sfp+", "rj45", "mpo", "cpo"]
    """osfp: 100G lanes (OSFP, OSFP800, OSFP112); osfp224: 200G lanes (OSFP224, OSFP1600, XDR)."""
    cooling: Cooling = "finned"
    lanes: Count
    use: Literal["data", "management", "service"] = "data"
    max_module_w: Positive | None = None
    power_classes: tuple[PowerClass, ...] = ()
    modes: tuple[Breakout, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _modes_fit_the_lanes(self) -> CageGroup:
        for mode in self.modes:
            if mode.ports * mode.lanes > self.lanes:
                raise ValueError(f"mode {mode.name} needs {mode.ports * mode.lanes} lanes; the cage has {self.lanes}")
        names = [(m.name, m.lane_gbps) for m in self.modes]
        if len(set(names)) != len(names):
            raise ValueError("a breakout mode stands twice")
        return self

    def label(self, cage: int) -> str:
        """What stands at a cage: its faceplate number; management sockets are MGMT1, MGMT2, ..."""
        return f"MGMT{cage - self.first + 1}" if self.use == "management" else str(cage)


class PortNames(Frozen):
    """How one network operating system prints port names.

    Patterns use `{cage}` (faceplate number), `{cage0}` (counted from 0), `{child}` (port in the cage from 0),
    `{child1}` (from 1), `{letter}` (a, b, ...), `{lane}` (first lane of the port in the cage, from 0),
    `{lane1}` (from 1), `{base}` (8 x cage0) and `{eth}` (base + lane); modular switches also `{card}` and `{slot}` (cage on its card), from 1.
    """

    os: str
    whole: str
    """Pattern of an unsplit cage."""
    split: str
    """Pattern of a port of a split cage."""
    management: str = "eth{child}"
    """Pattern of a management port, with `{child}` (from 0) or `{child1}`."""

    @field_validator("whole", "split", "management")
    @classmethod
    def _known_placeholders(cls, pattern: str) -> str:
        plain = re.sub(r"{\w+(:0?\d)?}", "0", pattern)
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9/:._ ()-]*", plain):
            raise ValueError(f"{pattern!r} is no pattern of port names | write letters, digits, / : . _ - and placeholders such as {{cage}} or {{cage:02}}")
        known = {"cage", "cage0", "child", "child1", "letter", "lane", "lane1", "base", "eth", "card", "slot"}
        unknown = sorted(set(re.findall(r"{(\w+)[^}]*}", pattern)) - known)
        if unknown:
            raise ValueError(f"unknown placeholders {', '.join(unknown)}")
        return pattern


class Switch(Part):
    """One switch model. Power in W at the input, weight without modules."""

    families: tuple[str, ...] = ()
    """Families the model belongs to: spectrum-x, tomahawk-6, tomahawk-5, quantum-ndr, quantum-xdr."""
    asic: str
    protocol: Protocol
    capacity_tbps: Positive | None = None
    """One-way capacity; never the full-duplex figure some vendors print."""
    cages: tuple[CageGroup, ...] = Field(min_length=1)
    ports_max: Count | None = None
    """Cap of the ASIC on logical data ports, whatever the cages could split into."""
    port_names: tuple[PortNames, ...] = Field(min_length=1)
    """The first is the default."""
    height_ru: Count
    depth_mm: Positive | None = None
    weight_kg: Positive | None = None
    power_typical_w: Positive | None = None
    power_max_w: Positive | None = None
    psu_count: Count | None = None
    airflow: Literal["p2c", "c2p", "both", "liquid", "unknown"] = "unknown"
    """p2c: power side to connector side; c2p: connector side to power side."""
    cooling: Literal["air", "liquid", "hybrid"] = "air"
    air_percent: Annotated[float, Field(ge=0, le=100)] | None = None
    """Share of the power of a liquid-cooled or hybrid part that heats the air."""
    management_ports: int = Field(default=1, ge=0)
    """RJ45 sockets of 1G for the out-of-band network; `management_cages` makes cages of them."""
    dedicated_ufm_port: bool = False
    """True when the fabric manager has a port of its own, so that no leaf port is given up for it."""
    cages_per_card: Count | None = None
    """Modular switches: cages of one line card; cages are numbered on through the cards."""
    chassis_of: Count | None = None
    """Set when the box holds several independent switches (Q3200 holds two)."""

    @model_validator(mode="after")
    def _faceplate_numbers_end_below_management(self) -> Switch:
        last = max(g.first + g.count - 1 for g in self.cages)
        if last >= MANAGEMENT_CAGE:
            raise ValueError(f"cage {last}: numbers from {MANAGEMENT_CAGE} are kept for management ports")
        return self

    @property
    def management_cages(self) -> CageGroup | None:
        """The management sockets as cages, numbered from `MANAGEMENT_CAGE`; None when the box has none."""
        if not self.management_ports:
            return None
        return CageGroup(first=MANAGEMENT_CAGE, count=self.management_ports, form="rj45", lanes=1, use="management", modes=(Breakout(ports=1, gbps=1, lanes=1, lane_gbps=1),))


class NicPort(Frozen):
    """One cage connector position of a node: which GPU it serves and what the OS calls it.

    `cage` and `connector` count from 1 as printed on the chassis; a twin cage has connectors 1 and 2.
    """

    label: PlainText
    """As printed on the chassis, for example OSFP4P2."""
    cage: str
    connector: Count
    gpu: int | None = Field(default=None, ge=0)
    rail: int | None = Field(default=None, ge=0)
    """Defaults to the GPU index for compute ports."""
    use: Literal["compute", "storage", "inband", "frontend", "management", "bmc"] = "compute"
    """management: a service socket, of the host's operating system or of a PDU, CDU or firewall; bmc: the controller behind a host, alive without it."""
    pci: PlainText | None = None
    netdev_ib: PlainText | None = None
    netdev_eth: PlainText | None = None
    rdma: PlainText | None = None


class NicMode(Breakout):
    """One way to run one NIC position (one `NicPort` entry): `ports` logical ports of `gbps` each."""

    protocol: Protocol


class NodeCage(Frozen):
    """A cage of the node: its form, what plugs cool in it, and how many lanes it has."""

    label: PlainText
    form: Literal["osfp", "osfp224", "qsfp112", "qsfp56", "qsfp28", "sfp28", "rj45"]
    cooling: Cooling = "flat"
    lanes: Count
    max_module_w: Positive | None = None
    modes: tuple[NicMode, ...] = ()
    """Modes of each connector of the cage, for ports whose use is not compute; the first legal one is used."""

    @model_validator(mode="after")
    def _modes_fit_the_lanes(self) -> NodeCage:
        for mode in self.modes:
            if mode.ports * mode.lanes > self.lanes:
                raise ValueError(f"mode {mode.name} needs {mode.ports * mode.lanes} lanes; the cage has {self.lanes}")
        kinds = [(m.protocol, m.name, m.lane_gbps) for m in self.modes]
        if len(set(kinds)) != len(kinds):
            raise ValueError("a mode stands twice")
        return self


Role = Literal["gpu", "cpu", "control", "login", "storage", "management", "edge", "pdu", "cdu"]
"""What a node is in a cluster; control: control plane, management: fabric managers, edge: firewalls and routers to the outside."""


class Node(Part):
    """One node model: a server, a compute tray, or whatever else of the room has ports (PDU, CDU, firewall)."""

    gpus: int = Field(ge=0)
    """0 for servers without any, such as UFM servers."""
    role: Role = "cpu"
    """Where the file is silent: gpu with GPUs, else cpu."""
    height_ru: int = Field(ge=0)
    """0 for what hangs beside the units, such as vertical PDUs, or stands on the floor."""
    depth_mm: Positive | None = None
    weight_kg: Positive | None = None
    power_max_w: float | None = Field(default=None, ge=0, le=1e9)
    """0 for what passes power on and draws none of its own, such as PDUs."""
    power_typical_w: Positive | None = None
    cooling: Literal["air", "liquid", "hybrid"] = "air"
    air_percent: Annotated[float, Field(ge=0, le=100)] | None = None
    """Share of the power of a liquid-cooled or hybrid part that heats the air."""
    nic: str = ""
    """NIC of the compute ports, for example ConnectX-8."""
    cages: tuple[NodeCage, ...] = Field(min_length=1)
    ports: tuple[NicPort, ...] = Field(min_length=1)
    modes: tuple[NicMode, ...] = ()
    """Modes of a compute port; the first legal one for the chosen family and planes is used."""
    per_rack: tuple[Count, ...] = ()
    """Published numbers of such nodes in a rack, ascending."""
    rack_scale: bool = False
    """True for trays that come as whole racks (NVL72): SUs are rounded to whole racks."""
    psu_count: Count | None = None
    storage_raw_tb: Positive | None = None
    """Capacity of its drives in TB (10^12 bytes)."""
    storage_usable_tb: Positive | None = None
    """What users get of it in TB, where the vendor says so."""

    @model_validator(mode="before")
    @classmethod
    def _gpus_make_a_gpu_node(cls, data: Any) -> Any:
        if isinstance(data, dict) and "role" not in data and isinstance(data.get("gpus"), int) and data["gpus"] > 0:
            return {**data, "role": "gpu"}
        return data

    @model_validator(mode="after")
    def _modes_stand_where_they_are_read(self) -> Node:
        if bool(self.compute_ports) != bool(self.modes and self.nic):
            what = "compute ports need" if self.compute_ports else "without compute ports there is no use for"
            raise ValueError(f"{what} modes and a nic of the node | modes of other ports stand at their cage")
        for cage in self.cages:
            uses = [p.use for p in self.ports if p.cage == cage.label]
            if cage.modes and set(uses) <= {"compute"}:
                raise ValueError(f"cage {cage.label} lists modes but no port that reads them | modes of compute ports stand at the node")
            for mode in cage.modes:
                if len(uses) * mode.ports * mode.lanes > cage.lanes:
                    raise ValueError(f"{len(uses)} connectors of cage {cage.label} run as {mode.name} need more than its {cage.lanes} lanes")
        return self

    @model_validator(mode="after")
    def _ports_stand_in_cages(self) -> Node:
        cages = {c.label for c in self.cages}
        if len(cages) != len(self.cages):
            raise ValueError("a cage label stands twice")
        seen: set[tuple[str, int]] = set()
        for port in self.ports:
            if port.cage not in cages:
                raise ValueError(f"port {port.label} names cage {port.cage}, which is not listed")
            if (port.cage, port.connector) in seen:
                raise ValueError(f"connector {port.connector} of cage {port.cage} stands twice")
            seen.add((port.cage, port.connector))
        labels = [p.label for p in self.ports]
        if len(set(labels)) != len(labels):
            raise ValueError("a port label stands twice")
        rails = sorted(p.gpu for p in self.compute_ports if p.gpu is not None)
        if rails != list(range(self.gpus)):
            raise ValueError(f"compute ports serve GPUs {rails}, the node has {self.gpus}: one port for each GPU from 0")
        return self

    @property
    def compute_ports(self) -> tuple[NicPort, ...]:
        """Ports of the compute fabric in rail order."""
        return tuple(sorted((p for p in self.ports if p.use == "compute"), key=lambda p: p.gpu if p.gpu is not None else -1))


Connector = Literal["mpo-12-apc", "mpo-12-upc", "mpo-16-apc", "lc-duplex"]
"""Fibre connectors; angled (APC, green) and flat polish (UPC, aqua) do not mate."""


class Plug(Frozen):
    """One end of a module or copper cable, as it goes into a cage."""

    form: Literal["osfp", "osfp224", "qsfp112", "qsfp-dd", "qsfp56", "qsfp28", "sfp28", "rj45"]
    cooling: Cooling
    ports: Count
    """How many ports the plug serves: 2 for a twin-port 800G plug run as 2x400G."""
    power_w: Positive | None = None
    """Highest power the plug draws."""


class Module(Part):
    """One optical transceiver; it fills one cage and has `connectors` fibre connectors."""

    plug: Plug
    optics: str
    """Optical type at the connector, for example SR4 or DR4; both ends must agree."""
    glass: Literal["multimode", "single-mode"]
    connector: Connector
    connectors: Count
    gbps: Count
    """Speed at each connector."""
    lanes: Count
    """Lanes at each connector."""
    lane_gbps: Count
    host_lanes: Count | None = None
    """Lanes on the side of the cage for each connector, where a gearbox makes them other than the optical ones."""
    host_lane_gbps: Count | None = None
    half: bool = False
    """True when it also runs on half of its lanes at half the speed, at the end of a splitter fibre."""
    reach_m: dict[Literal["om3", "om4", "os2"], Positive] = Field(min_length=1)
    protocols: tuple[Protocol, ...] = Field(min_length=1)

    @property
    def runs(self) -> tuple[tuple[int, int, int], ...]:
        """Ways to run a connector as the cage sees them: (Gb/s, lanes, Gb/s of a lane)."""
        lanes, lane_gbps = self.host_lanes or self.lanes, self.host_lane_gbps or self.lane_gbps
        whole = (self.gbps, lanes, lane_gbps)
        return (whole, (self.gbps // 2, lanes // 2, lane_gbps)) if self.half else (whole,)


class Speed(Frozen):
    """Speed of a port and of each of its lanes in Gb/s."""

    gbps: Count
    lane_gbps: Count


class Copper(Part):
    """One copper or active optical cable family: head end, tail ends, and the lengths sold.

    A straight cable has one tail, a split cable several; each end fills a cage alone.
    """

    kind: Literal["dac", "acc", "aec", "utp", "aoc"]
    """dac passive, acc linear or redriven active copper, aec retimed copper, utp twisted pairs for RJ45, aoc active optical."""
    head: Plug
    tails: tuple[Plug, ...] = Field(min_length=1)
    gbps: Count
    """Speed of each port."""
    lane_gbps: Count
    slower: tuple[Speed, ...] = ()
    """Lower speeds that the maker sells it for too."""
    lengths_m: dict[Positive, str | None] = Field(min_length=1)
    """Length sold in metres -> its own part number where known."""
    protocols: tuple[Protocol, ...] = Field(min_length=1)
    diameter_mm: Positive | None = None
    weight_kg_per_m: Positive | None = None

    @model_validator(mode="after")
    def _ports_balance(self) -> Copper:
        tails = sum(t.ports for t in self.tails)
        if tails != self.head.ports:
            raise ValueError(f"the head serves {self.head.ports} ports, the tails {tails}")
        return self

    @property
    def speeds(self) -> frozenset[tuple[int, int]]:
        """Every (Gb/s of a port, Gb/s of a lane) it runs at."""
        return frozenset({(self.gbps, self.lane_gbps), *((s.gbps, s.lane_gbps) for s in self.slower)})


class Fibre(Part):
    """One fibre cable family: straight (1 to 1), splitter (1 to 2) or shuffle (2 to 2)."""

    shape: Literal["straight", "splitter", "shuffle"]
    glass: Literal["multimode", "single-mode"]
    connector: Connector
    lengths_m: dict[Positive, str | None] = Field(min_length=1)
    grade_m: dict[Literal["om3", "om4", "os2"], Positive] = Field(min_length=1)
    """Glass grade -> longest length sold in it; a length is made of the first grade that reaches it."""
    diameter_mm: Positive | None = None
    weight_kg_per_m: Positive | None = None

    def grade(self, length_m: float) -> str:
        """Glass grade of a sold length."""
        return next((g for g, top in sorted(self.grade_m.items(), key=lambda i: i[1]) if length_m <= top), max(self.grade_m))


class Price(Frozen):
    """One price: indicative, replaceable by the user's own list. `length_m` only where it matters."""

    part: str
    """A model name of the catalog, or a part number of one."""
    length_m: Positive | None = None
    value: float = Field(ge=0, le=1e9)
    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")]
    basis: str
    source: str
    date: date
    confidence: Confidence


class PriceList(Frozen):
    """A price list; a file in `prices/`."""

    name: str
    prices: tuple[Price, ...]


class RackType(Part):
    """One rack type: usable height, limits and outer dimensions."""

    height_ru: Count
    power_w: Positive
    weight_kg: Positive
    """Load limit of the rack, its own weight not counted."""
    own_weight_kg: Positive | None = None
    """Weight of the empty rack; it counts where the floor has a limit."""
    width_mm: Positive
    depth_mm: Positive
    height_mm: Positive


class Licence(Part):
    """One licence that switches of some families are run with."""

    families: tuple[str, ...] = Field(min_length=1)
    """Families of the fabrics that need it."""
    per: Literal["endpoint"]
    """What one is bought for; endpoint: a NIC of a node on the fabric."""


PART_ROOMS: dict[str, type[Part]] = {
    "switches": Switch,
    "nodes": Node,
    "modules": Module,
    "copper": Copper,
    "fibres": Fibre,
    "racks": RackType,
    "licences": Licence,
}
"""Folder name -> model of the files in it."""
