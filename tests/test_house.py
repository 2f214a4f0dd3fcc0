"""The house: what is where, who may import whom, and what is in the wheel."""

import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
ROOMS = ("domain", "projections", "adapters")


def test_imports_point_inwards() -> None:
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_folder_of_the_house_is_in_the_wheel() -> None:
    """A forgotten package works in a checkout and is missing from the wheel."""
    found = {"tachograph"}
    for room in ROOMS:
        for init in (ROOT / room).rglob("__init__.py"):
            found.add(".".join(["tachograph", *init.parent.relative_to(ROOT).parts]))
    assert set(PROJECT["tool"]["setuptools"]["packages"]) == found


def test_every_package_says_that_it_is_typed() -> None:
    packages = PROJECT["tool"]["setuptools"]["packages"]
    folders = [ROOT.joinpath(*name.split(".")[1:]) for name in packages]
    assert [folder for folder in folders if not (folder / "py.typed").exists()] == []


def test_the_top_level_holds_two_modules_and_no_more() -> None:
    """Any other would land in the wheel as `tachograph.<name>`."""
    assert sorted(path.name for path in ROOT.glob("*.py")) == ["__init__.py", "cli.py"]


def test_no_module_has_grown_past_one_idea() -> None:
    modules = [path for room in ROOMS for path in (ROOT / room).rglob("*.py")]
    long = {
        str(path.relative_to(ROOT)): lines
        for path in modules
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > 250
    }
    assert long == {}


@pytest.mark.slow
def test_the_wheel_holds_all_that_the_product_needs(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(tmp_path), str(ROOT)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    shipped = {
        f"tachograph/{path.relative_to(ROOT)}"
        for room in ROOMS
        for path in (ROOT / room).rglob("*")
        if path.suffix in {".py", ".sql", ".toml", ".json", ".typed", ".md"}
    }
    assert shipped <= names
    assert not any(name.startswith(("tachograph/tests", "tachograph/benchmarks")) for name in names)
