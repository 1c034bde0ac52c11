"""The house: rooms import downwards only, heavy libraries stay where they belong, every file is in a room."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import railplan

ROOT = Path(railplan.__file__).parent
ROOMS = ("vendors", "fabric", "layouts", "outputs")
MODULES = sorted(p for p in ROOT.rglob("*.py") if p.relative_to(ROOT).parts[0] in ROOMS or p.parent == ROOT)
OWNERS = {
    "ortools": {"fabric/flows.py", "layouts/solver_polish.py"},
    "openpyxl": {"outputs/workbook.py", "outputs/sheets.py", "outputs/paper.py", "outputs/colouring.py", "outputs/point_to_point.py"},
    "pygraphviz": {"outputs/fabric_picture.py"},
    "click": {"cli.py"},
    "networkx": {"fabric/graph.py"},
}


def imports(path: Path) -> list[tuple[int, str]]:
    """(level, module) of every import of a file, those inside functions included."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            found.append((node.level, node.module or ""))
        elif isinstance(node, ast.Import):
            found += [(0, alias.name) for alias in node.names]
    return found


def type_checking_only(path: Path, module: str) -> bool:
    """True when every import of `module` in the file stands under `if TYPE_CHECKING`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    guarded = {id(n) for branch in ast.walk(tree) if isinstance(branch, ast.If) and getattr(branch.test, "id", "") == "TYPE_CHECKING" for n in ast.walk(branch)}
    nodes = [n for n in ast.walk(tree) if (isinstance(n, ast.Import) and any(a.name == module for a in n.names)) or (isinstance(n, ast.ImportFrom) and n.module == module)]
    return all(id(n) in guarded for n in nodes)


def room_of(path: Path) -> int:
    """Height of a file's room; the files at the top level stand above all rooms, problems.py below."""
    parts = path.relative_to(ROOT).parts
    if parts[0] in ROOMS:
        return ROOMS.index(parts[0])
    return -1 if parts[0] == "problems.py" else len(ROOMS)


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_rooms_import_downwards_only(path: Path) -> None:
    for level, module in imports(path):
        if level == 0:
            assert module.split(".")[0] != "railplan", f"{path.name} imports {module} absolutely"
            continue
        base = path.parent
        for _ in range(level - 1):
            base = base.parent
        target = base.joinpath(*module.split(".")) if module else base
        landed = target.with_suffix(".py") if target.with_suffix(".py").exists() else target
        if landed == ROOT or type_checking_only(path, module):
            continue
        if path.parent == ROOT / "outputs" and landed == ROOT / "plan.py":
            pytest.fail(f"{path.name} imports plan.py at run time")
        assert room_of(landed) <= room_of(path), f"{path.relative_to(ROOT)} imports upwards: {module}"


@pytest.mark.parametrize("library", OWNERS)
def test_heavy_libraries_are_imported_only_by_their_owners(library: str) -> None:
    users = {str(p.relative_to(ROOT)) for p in MODULES if any(m.split(".")[0] == library for level, m in imports(p) if level == 0) and not type_checking_only(p, library)}
    assert users <= OWNERS[library]


def test_help_imports_nothing_heavy() -> None:
    code = "import sys; from railplan.cli import main; main(['--help'], standalone_mode=False); print(sorted(sys.modules), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "Plan the network" in done.stdout
    for heavy in ("polars", "numpy", "pydantic", "networkx", "ortools", "openpyxl", "rich", "yaml", "scipy", "pygraphviz"):
        assert f"'{heavy}'" not in done.stderr


def test_every_room_says_what_lives_there() -> None:
    for room in ROOMS:
        assert len((ROOT / room / "README.md").read_text(encoding="utf-8").splitlines()) >= 5


def test_the_package_lists_every_folder_with_modules() -> None:
    import tomllib

    listed = set(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["packages"])
    folders = {".".join(("railplan", *p.parent.relative_to(ROOT).parts)) for p in MODULES} | {"railplan.examples"}
    assert folders == listed
