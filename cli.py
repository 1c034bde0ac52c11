"""The command line: thin commands around the planner; nothing heavy is imported before it is needed."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from . import __version__

if TYPE_CHECKING:
    from .fabric.design import Design
    from .problems import Problem
    from .vendors.catalog import Catalog
    from .vendors.yaml_source import Source

FAMILIES = ("spectrum-x", "tomahawk-6", "tomahawk-5", "quantum-ndr", "quantum-xdr")
STYLES = ("rail", "rail-only", "tor", "dual-tor", "pair", "single", "chassis")
EFFORTS = ("fixed", "quick", "normal", "thorough")
REFERENCES = ("64", "128", "288")
STORAGE = ("nodes", "appliance")
FAILING = ("leaf", "spine", "core", "cable", "rack")
Command = TypeVar("Command", bound=Callable[..., Any])


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="railplan")
def main() -> None:
    """Plan the network of a GPU cluster: topology, proofs, racks, cables, and the files to build it from."""


def _design_flags(command: Command) -> Command:
    for option in reversed(
        (
            click.option("--name", help="Name of the cluster."),
            click.option("--nodes", type=int, help="Number of GPU nodes."),
            click.option("--node", metavar="MODEL", help="Node model, for example hgx-b300."),
            click.option("--grow-to", type=int, help="Final number of nodes."),
            click.option("--family", metavar="|".join(FAMILIES), help="Switch family; it names a default switch."),
            click.option("--switch", metavar="MODEL", help="Switch model instead of the family's default."),
            click.option("--style", metavar="|".join(STYLES), help="Topology style."),
            click.option("--planes", metavar="auto|1|2|4", help="Disjoint planes every NIC is split over."),
            click.option("--oversubscription", metavar="R", help="Down over up bandwidth: 1, 2, 3.5, 2:1."),
        )
    ):
        command = option(command)
    return command


def _catalog_option(command: Command) -> Command:
    return click.option(
        "--catalog", "catalogs", multiple=True, type=click.Path(path_type=Path), help="Folder of part files that add to or override the shipped catalog; repeatable."
    )(command)


@main.command()
@click.option(
    "--reference",
    type=click.Choice(REFERENCES),
    help="A complete cluster: the reference design of so many nodes, with its servers and fabrics; --nodes sizes another by the same rules.",
)
@click.option("--storage", type=click.Choice(STORAGE), help="Storage of the complete cluster: nodes (the default) or appliances.")
@_catalog_option
@_design_flags
def new(reference: str | None, storage: str | None, catalogs: tuple[Path, ...], **flags: Any) -> None:
    """Print a commented design file to start from."""
    if storage is not None and reference is None:
        raise click.UsageError("--storage: only a complete cluster has storage, add --reference")
    with _problems(as_json=False):
        text = _new_text(reference, storage or STORAGE[0], flags, catalogs)
        design, source = _parsed(text, None)
        with _located(source):
            from .fabric.modes import unknown_models
            from .problems import raise_errors

            raise_errors(unknown_models(design, _catalog(catalogs)))
    _say(text, nl=False)


@main.command()
@click.argument("design", required=False, type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="Folder to write the plan into.")
@click.option("--only", metavar="FORMAT,...", help="Write only these formats, some of which are not written otherwise; the README lists them.")
@click.option("--slurm-version", default="23.11", show_default=True, help="Release of Slurm whose rules the Slurm files keep; 25.05 and later get topology.yaml as well.")
@click.option("--label-prefix", default="fabric.topograph.run", show_default=True, help="What stands before the slash of Kubernetes node labels.")
@click.option("--slice", "part", default="", metavar="pods=1,nodes=4", help="Part of the fabric that --only containerlab gets; also rails, planes, spines. By default all of it.")
@click.option("--force", is_flag=True, help="Replace another plan in the folder.")
@click.option("--hall", type=click.Path(path_type=Path), help="YAML file of the hall, or the name of a shipped one, in place of the design's.")
@click.option(
    "--effort",
    type=click.Choice(EFFORTS),
    default="fixed",
    show_default=True,
    help="Placement: the reference arrangement, or a search for cheaper cabling of about 2 s, 30 s or 10 min.",
)
@click.option("--time-limit", type=click.FloatRange(min=0), metavar="SECONDS", help="End the placement search by the clock; the same design may then give other places.")
@click.option("--keep", type=click.Path(path_type=Path), metavar="PLAN", help="Folder of an earlier plan: what it placed stays where it is.")
@click.option("--jobs", type=click.IntRange(1, 256), default=2, help="Worker threads of the placement search.")
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), help="Seed of everything tried at random.")
@click.option("--json", "as_json", is_flag=True, help="Print summary.json on stdout instead of the summary.")
@_catalog_option
@_design_flags
def plan(
    design: Path | None,
    output: Path,
    only: str | None,
    slurm_version: str,
    label_prefix: str,
    part: str,
    force: bool,
    hall: Path | None,
    effort: str,
    time_limit: float | None,
    keep: Path | None,
    jobs: int,
    seed: int | None,
    as_json: bool,
    catalogs: tuple[Path, ...],
    **flags: Any,
) -> None:
    """Plan a DESIGN file, or the cluster that the flags describe, into a folder."""
    left_out: list[Problem] = []
    with _problems(as_json):
        what, source = _design(design, hall, {**flags, "seed": seed})
        with _progress(as_json) as tell:
            from .outputs import Options, render
            from .outputs.kubernetes import check_prefix
            from .outputs.slice import parse_slice
            from .outputs.slurm_rules import release
            from .outputs.write import write_plan
            from .plan import make_plan

            release(slurm_version)
            parse_slice(part)
            check_prefix(label_prefix)
            options = Options(slurm_version, label_prefix, part)
            with _located(source):
                made = make_plan(what, _catalog(catalogs), tell, effort, keep, time_limit, jobs)
            tell("writing")
            files = render(made, only.split(",") if only else None, options, left_out.append)
            write_plan(files, output, force)
    if as_json:
        _say(files["summary.json"].decode(), nl=False)
    else:
        from .outputs.terminal import print_summary

        print_summary(made, _console())
        click.echo(f"{len(files)} files in {output}", err=True)
    if left_out:
        from .outputs.terminal import print_problems

        print_problems(left_out, _console())


@main.command()
@click.argument("design", type=click.Path(path_type=Path))
@click.option("--hall", type=click.Path(path_type=Path), help="YAML file of the hall, or the name of a shipped one, in place of the design's.")
@click.option("--effort", type=click.Choice(EFFORTS), default="fixed", show_default=True, help="Placement, as for plan: racks and cable ids depend on it.")
@click.option("--fail", metavar="KIND:NAME,...", multiple=True, help="Say what is left when these fail: leaf:, spine:, core:, cable: or rack: and a name; repeatable.")
@click.option("--fail-any", type=click.Choice(FAILING), help="Find the worst single failure of a kind; one of each class of identical things is tried.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON on stdout.")
@_catalog_option
def check(design: Path, hall: Path | None, effort: str, fail: tuple[str, ...], fail_any: str | None, as_json: bool, catalogs: tuple[Path, ...]) -> None:
    """Plan and prove a DESIGN file, print its findings and what is left after failures, write nothing."""
    found: list[Problem] = []
    with _problems(as_json):
        what, source = _design(design, hall, {})
        with _located(source), _progress(as_json) as tell:
            from .fabric.design import locate
            from .outputs.terminal import print_problems, print_summary
            from .plan import make_plan

            made = make_plan(what, _catalog(catalogs), tell, effort)
            found = locate(made.findings, source)
            tell("letting things fail")
            damage = made.what_if(*fail) if fail else None
            worst, tried, of = made.worst_failure(fail_any) if fail_any else (None, 0, 0)
    if as_json:
        more = {key: asdict(value) for key, value in (("damage", damage), ("worst_failure", worst)) if value is not None}
        _say(_findings_json(found, more))
        return
    from .fabric.damage import damage_text

    print_problems(found, _console())
    print_summary(made, _console(), listed=True)
    for line in damage_text(damage) if damage else ():
        click.echo(line, err=True)
    if worst is not None:
        of_compute = " of the compute fabric" if len(made.topology.fabrics) > 1 else ""
        click.echo(f"worst single {fail_any}{of_compute}, {of:,} in all, {tried} tried: one of each kind", err=True)
        for line in damage_text(worst):
            click.echo(line, err=True)


@main.command("lint-topology")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--plan", "folder", type=click.Path(path_type=Path), help="Plan folder whose nodes must all be in the file.")
@click.option("--nodes", metavar="HOSTLIST", help="The nodes that must all be in the file, as gpu-[001-128].")
@click.option("--slurm-version", help="Release of Slurm that reads the file; by default 23.11, for block files 24.05.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON on stdout.")
def lint_topology(file: Path, folder: Path | None, nodes: str | None, slurm_version: str | None, as_json: bool) -> None:
    """Check a topology.conf that you have: what stops Slurm, and what hangs jobs without a word."""
    if folder is not None and nodes is not None:
        raise click.UsageError("--plan and --nodes: both name the nodes, give one of them")
    with _problems(as_json):
        from .outputs.terminal import print_problems
        from .outputs.topology_lint import lint_file

        found = lint_file(file, folder, nodes, slurm_version)
    if as_json:
        _say(_findings_json(found))
    elif found:
        print_problems(found, _console())
    else:
        click.echo(f"{file}: nothing wrong", err=True)
    sys.exit(any(p.level == "error" for p in found))


@main.command()
@click.argument("designs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--vary", multiple=True, metavar="FIELD=VALUE,...", help="Plan the design once for each value; repeatable, all combinations are planned.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")
@_catalog_option
def compare(designs: tuple[Path, ...], vary: tuple[str, ...], as_json: bool, catalogs: tuple[Path, ...]) -> None:
    """Lay plans side by side: several DESIGNS, or one with fields varied. Savings are against the first."""
    with _problems(as_json):
        from .compare import Variant, measure_all, variants
        from .fabric.design import read_design
        from .outputs.compare_view import comparison_json, print_comparison

        columns: list[Variant] = []
        for path in designs:
            design, source = read_design(path)
            columns += variants(source, vary, path.stem if len(designs) > 1 else "") if vary else [Variant(path.stem, design, source=source)]
        measured = [(m.label, m.figures, m.problems) for m in measure_all(columns, _catalog(catalogs))]
        if as_json:
            _say(comparison_json(measured))
        else:
            print_comparison(measured, _console(stderr=False))
    if not all(figures for _, figures, _ in measured):
        sys.exit(1)


@main.command()
def schema() -> None:
    """Print the JSON Schema of the design file, for editors."""
    from .fabric.design import Design

    _say(json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema", **Design.model_json_schema()}, indent=2))


@main.command("hall")
@click.argument("file", metavar="HALL", type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="SVG file to draw the hall into.")
@_catalog_option
def draw_hall(file: Path, output: Path, catalogs: tuple[Path, ...]) -> None:
    """Check a HALL, a YAML file or a shipped one by its name, and draw it with its rooms, rows, trays and obstacles."""
    from .fabric.design import locate
    from .fabric.hall_file import read_hall

    with _problems(as_json=False):
        path = _hall(file)
        spec, source = read_hall(path)
        with _located(source):
            from .layouts.hall_checks import checked_hall
            from .outputs.hall_page import empty_hall, hall_facts
            from .outputs.terminal import print_problems
            from .outputs.write import write_file

            hall, findings = checked_hall(spec, _catalog(catalogs))
        write_file(empty_hall(hall, path.stem), output)
    print_problems(locate(findings, source), _console())
    for fact in hall_facts(hall):
        click.echo(fact, err=True)


@main.command()
@click.argument("room", required=False, metavar="[switches|nodes|cables|modules|racks|licences]")
@click.argument("model", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")
@_catalog_option
def catalog(room: str | None, model: str | None, as_json: bool, catalogs: tuple[Path, ...]) -> None:
    """List the hardware that is known, or one MODEL with the source of each datum."""
    with _problems(as_json):
        from .outputs.catalog_view import catalog_json, print_catalog

        parts = _catalog(catalogs)
        if as_json:
            _say(catalog_json(parts, room, model))
        else:
            print_catalog(parts, room, model, _console(stderr=False))


def _new_text(reference: str | None, storage: str, flags: dict[str, Any], catalogs: tuple[Path, ...]) -> str:
    """The text of a new design: the compute fabric alone, or a complete cluster."""
    from .fabric.new_design import design_text

    heading = "# A design for railplan: `railplan plan THIS-FILE -o plan` plans it.\n"
    if reference is None:
        return design_text(flags, heading=heading, more=True)
    from .fabric.complete_design import complete_text

    return complete_text(int(reference), storage, flags, _catalog(catalogs), heading)


def _design(path: Path | None, hall: Path | None, flags: dict[str, Any]) -> tuple[Design, Source]:
    """The design of a file (only the seed may be changed by flag) or of the flags."""
    from .fabric.design import read_design
    from .fabric.new_design import design_text

    hall = None if hall is None else _hall(hall)
    given = sorted(k for k, v in flags.items() if v is not None and k != "seed")
    if path is None:
        missing = [f"--{name}" for name in ("nodes", "node", "family") if flags.get(name) is None]
        if missing:
            raise click.UsageError(f"name a DESIGN file, or give {', '.join(missing)}")
        return _parsed(design_text(flags), hall)
    if given:
        raise click.UsageError(f"--{given[0].replace('_', '-')} and a DESIGN file: change the file, or leave it out")
    design, source = read_design(path, hall)
    if flags.get("seed") is not None:
        design = design.model_copy(update={"seed": flags["seed"]})
    return design, source


def _hall(path: Path) -> Path:
    """The file of a hall that is named by a path or as a shipped one."""
    from .layouts.shipped_halls import hall_path

    return hall_path(path)


def _parsed(text: str, hall: Path | None) -> tuple[Design, Source]:
    """The design of the flags; its fields are placed at their flags."""
    from .fabric.design import Design, with_hall
    from .fabric.new_design import FLAGS
    from .vendors.yaml_source import Source, parse_yaml, validate

    plain = parse_yaml(text, "the flags")
    names: dict[tuple[str | int, ...], str] = {tuple(flag.field.split(".")): f"--{name.replace('_', '-')}" for name, flag in FLAGS.items()}
    source = with_hall(Source("the flags", plain.data, labels=names), Path(), hall)
    return validate(Design, source), source


def _catalog(folders: tuple[Path, ...]) -> Catalog:
    from .vendors.catalog import load_catalog

    return load_catalog(folders)


@contextmanager
def _located(source: Source) -> Iterator[None]:
    """Give problems of the planning stages the file and line of the field they speak of."""
    from .fabric.design import locate
    from .problems import DesignError

    try:
        yield
    except DesignError as error:
        raise DesignError(locate(error.problems, source)) from None


@contextmanager
def _problems(as_json: bool) -> Iterator[None]:
    """Print the problems of a DesignError and leave with exit status 1."""
    from .problems import DesignError

    try:
        yield
    except DesignError as error:
        if as_json:
            _say(_findings_json(error.problems))
        else:
            from .outputs.terminal import print_problems

            print_problems(error.problems, _console())
        sys.exit(1)


def _findings_json(problems: Any, more: dict[str, Any] | None = None) -> str:
    return json.dumps({"findings": [asdict(p) for p in problems], **(more or {})}, indent=2)


def _say(text: str, nl: bool = True) -> None:
    """Put a document on stdout; a full disk or closed pipe behind it is the user's to mend, not a crash."""
    try:
        click.echo(text, nl=nl)
        sys.stdout.flush()
    except OSError as error:
        with open(os.devnull, "w") as sink:
            os.dup2(sink.fileno(), sys.stdout.fileno())
        click.echo(f"error  standard output cannot be written: {error.strerror}", err=True)
        sys.exit(1)


def _console(stderr: bool = True) -> Any:
    from rich.console import Console

    return Console(stderr=stderr, highlight=False)


@contextmanager
def _progress(quiet: bool) -> Iterator[Callable[[str], None]]:
    """Show the stage that is running, on a terminal only."""
    console = _console()
    if quiet or not console.is_terminal:
        yield lambda stage: None
        return
    with console.status("planning") as status:
        yield lambda stage: status.update(stage)
