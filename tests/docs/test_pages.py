"""The pages name everything that is public, and link what exists."""

import importlib
import re
import sys
import tomllib
from pathlib import Path

import pytest

import numpyro_sgmcmc
from tests.registry import KERNELS

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS))

import inventories  # noqa: E402


def test_every_public_name_is_in_the_reference_once():
    text = (DOCS / "api.md").read_text()
    named = re.findall(r"^\.\. auto(?:class|function):: (\w+)$", text, re.MULTILINE)
    assert sorted(named) == sorted(numpyro_sgmcmc.__all__)


def test_the_map_lists_every_module_in_the_order_of_the_layers():
    text = (DOCS / "architecture.md").read_text()
    listed = [
        name.removesuffix("/") for name in re.findall(r"^\| `([\w./]+)` \|", text, re.MULTILINE)
    ]
    package = DOCS.parent / "numpyro_sgmcmc"
    folders = [path.parent.name for path in package.glob("*/__init__.py")]
    files = [path.name for path in package.glob("*.py") if path.name != "__init__.py"]
    assert sorted(listed) == sorted(folders + files)
    tools = tomllib.loads((DOCS.parent / "pyproject.toml").read_text())["tool"]
    layers = tools["importlinter"]["contracts"][0]["layers"]
    level = {name: n for n, layer in enumerate(layers) for name in re.findall(r"\w+", layer)}
    levels = [level[name.removesuffix(".py")] for name in listed]
    assert levels == sorted(levels)


NAMED = sorted({name.partition("(")[0] for name in KERNELS} - {"SGMCMC"})


@pytest.mark.parametrize("name", NAMED)
def test_every_kernel_has_its_mathematics(name):
    headings = re.findall(r"^## (.*)$", (DOCS / "kernels.md").read_text(), re.MULTILINE)
    assert any(name in heading.split(", ") for heading in headings)


@pytest.mark.parametrize("project", sorted(inventories.OBJECTS))
def test_linked_objects_of_other_projects_exist(project):
    for name in inventories.OBJECTS[project][1]:
        if "." not in name or project == "arviz":  # 1.x has no InferenceData
            continue
        module, _, attribute = name.rpartition(".")
        assert hasattr(importlib.import_module(module), attribute), name


def test_tutorials_are_listed():
    listed = (DOCS / "tutorials" / "index.md").read_text()
    for path in (DOCS / "tutorials").glob("*.md"):
        assert path.stem == "index" or f"({path.name})" in listed
