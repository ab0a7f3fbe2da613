"""Inventories of the linked objects of other projects, so that building needs no network."""

import zlib
from pathlib import Path

NUMPYRO = "https://num.pyro.ai/en/stable/"
JAX = "https://docs.jax.dev/en/latest/"
ARVIZ = "https://python.arviz.org/en/v0.23.4/"
NUMPY = "https://numpy.org/doc/stable/"
PANDAS = "https://pandas.pydata.org/docs/"
XARRAY = "https://docs.xarray.dev/en/stable/"
PYTHON = "https://docs.python.org/3/"

# Project -> (base, {name: (type, page)}); `$` in a page stands for the name.
OBJECTS = {
    "numpyro": (
        NUMPYRO,
        {
            "numpyro.infer.mcmc.MCMC": ("class", "mcmc.html#$"),
            "numpyro.infer.mcmc.MCMCKernel": ("class", "mcmc.html#$"),
            "numpyro.infer.hmc.NUTS": ("class", "mcmc.html#$"),
            "numpyro.infer.util.Predictive": ("class", "utilities.html#$"),
            "numpyro.infer.initialization.init_to_uniform": ("function", "utilities.html#$"),
            "numpyro.primitives.plate": ("class", "primitives.html#$"),
            "numpyro.primitives.sample": ("function", "primitives.html#$"),
            "numpyro.primitives.factor": ("function", "primitives.html#$"),
            "numpyro.contrib.module.random_flax_module": ("function", "primitives.html#$"),
        },
    ),
    "jax": (
        JAX,
        {
            "jax.Array": ("class", "_autosummary/$.html#$"),
            "jax.random.key": ("function", "_autosummary/$.html#$"),
            "jax.vmap": ("function", "_autosummary/$.html#$"),
            "jax.typing.ArrayLike": ("attribute", "jax.typing.html#$"),
        },
    ),
    "arviz": (
        ARVIZ,
        {
            "arviz.InferenceData": ("class", "api/generated/$.html#$"),
            "arviz.from_netcdf": ("function", "api/generated/$.html#$"),
            "arviz.summary": ("function", "api/generated/$.html#$"),
            "arviz.loo": ("function", "api/generated/$.html#$"),
            "arviz.ess": ("function", "api/generated/$.html#$"),
            "arviz.rhat": ("function", "api/generated/$.html#$"),
        },
    ),
    "numpy": (NUMPY, {"numpy.ndarray": ("class", "reference/generated/$.html#$")}),
    "pandas": (
        PANDAS,
        {"pandas.DataFrame": ("class", "reference/api/$.html#$")},
    ),
    "xarray": (
        XARRAY,
        {
            "xarray.core.dataarray.DataArray": ("class", "generated/xarray.DataArray.html"),
            "xarray.core.dataset.Dataset": ("class", "generated/xarray.Dataset.html"),
        },
    ),
    "python": (
        PYTHON,
        {
            **{name: ("class", "library/functions.html#$") for name in ("int", "float", "bool")},
            **{name: ("class", "library/stdtypes.html#$") for name in ("str", "dict", "list")},
            "object": ("class", "library/functions.html#$"),
            "os.PathLike": ("class", "library/os.html#$"),
            "tuple": ("class", "library/stdtypes.html#$"),
            "typing.Any": ("data", "library/typing.html#$"),
            "typing.NamedTuple": ("class", "library/typing.html#$"),
            "typing.Protocol": ("class", "library/typing.html#$"),
            "abc.ABC": ("class", "library/abc.html#$"),
            "collections.abc.Callable": ("class", "library/collections.abc.html#$"),
            "collections.abc.Iterable": ("class", "library/collections.abc.html#$"),
            "collections.abc.Mapping": ("class", "library/collections.abc.html#$"),
            "collections.abc.Sequence": ("class", "library/collections.abc.html#$"),
            "pathlib.Path": ("class", "library/pathlib.html#$"),
            "TypeError": ("exception", "library/exceptions.html#$"),
            "ValueError": ("exception", "library/exceptions.html#$"),
        },
    ),
}

HEADER = """# Sphinx inventory version 2
# Project: {}
# Version:
# The remainder of this file is compressed using zlib.
"""


def write(folder: Path) -> dict[str, tuple[str, str]]:
    """Write an inventory for each project and return Sphinx's `intersphinx_mapping`."""
    folder.mkdir(parents=True, exist_ok=True)
    mapping = {}
    for project, (base, objects) in OBJECTS.items():
        lines = [
            f"{name} py:{kind} 1 {page.replace('$', name)} -\n"
            for name, (kind, page) in sorted(objects.items())
        ]
        path = folder / f"{project}.inv"
        path.write_bytes(HEADER.format(project).encode() + zlib.compress("".join(lines).encode()))
        mapping[project] = (base, str(path))
    return mapping
