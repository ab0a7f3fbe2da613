"""The package declares what it imports: none comes with another package alone."""

import ast
import re
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = "numpyro_sgmcmc"
FILES = sorted((ROOT / PACKAGE).glob("**/*.py"))


def canonical(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def names(requirements):
    return {canonical(re.match(r"[\w.-]+", line)[0]) for line in requirements}


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
REQUIRED = names(PROJECT["dependencies"])
EXTRAS = ("report", "runs", "distributed")
OPTIONAL = names([line for extra in EXTRAS for line in PROJECT["optional-dependencies"][extra]])


@cache
def distributions():
    return packages_distributions()


def third_party(tree):
    """Return the modules that a syntax tree imports from other distributions."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add((node.module or "").partition(".")[0])
    return found - sys.stdlib_module_names - {PACKAGE}


def undeclared(modules, declared):
    return {
        module
        for module in modules
        if not declared & {canonical(name) for name in distributions().get(module, [module])}
    }


def trees():
    for path in FILES:
        yield str(path.relative_to(ROOT)), ast.parse(path.read_text(encoding="utf-8"))


def test_every_import_is_declared():
    found = {path: undeclared(third_party(tree), REQUIRED | OPTIONAL) for path, tree in trees()}
    assert {path: modules for path, modules in found.items() if modules} == {}


def test_optional_packages_are_imported_by_functions_only():
    """They may be missing, so importing this package must not need them."""
    found = {}
    for path, tree in trees():
        kept = [node for node in tree.body if not isinstance(node, ast.FunctionDef | ast.ClassDef)]
        found[path] = undeclared(third_party(ast.Module(kept, [])), REQUIRED)
    assert {path: modules for path, modules in found.items() if modules} == {}


def test_undeclared_modules_are_found():
    tree = ast.parse("import os, zarr.storage\nfrom jax import numpy\n")
    assert undeclared(third_party(tree), REQUIRED) == {"zarr"}
