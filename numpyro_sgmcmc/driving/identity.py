"""The identity of a run, by name: a folder is continued only by the run that began it."""

import ast
import hashlib
import inspect
import os
import platform
import re
import textwrap
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from importlib.metadata import version
from typing import Any

import jax
import numpy as np
from numpyro.infer import MCMC

from numpyro_sgmcmc.driving.collected import Collected
from numpyro_sgmcmc.kernels import NumPyroKernel
from numpyro_sgmcmc.version import VERSION

PROGRAM = "program"
"""The name of the computation of an iteration."""
ONLY_BITS = ("versions.", "machine.", PROGRAM)
"""Entries that may change the bits of later draws, but not their distribution."""
PACKAGES = ("numpyro", "jax", "jaxlib")


def run_identity(
    mcmc: MCMC,
    rng_key: Any,
    collected: Collected,
    init_params: Any,
    collect_warmup: bool,
    model: tuple[tuple, dict],
) -> dict[str, str]:
    """Return the identity of a run, by name, without its program and its number of samples."""
    kernel = mcmc.sampler
    function = getattr(kernel, "model", None) or getattr(kernel, "_model", None)
    found = {
        "kernel": type(kernel).__name__,
        "model": _function(function),
        **{f"option {name}": word for name, word in _options(kernel).items()},
        **{f"data {name}": _leaf(leaf) for name, leaf in _arguments(function, model)},
        "key": _leaf(rng_key),
        "num_warmup": str(mcmc.num_warmup),
        "num_chains": str(mcmc.num_chains),
        "thinning": str(mcmc.thinning),
        "chain_method": str(mcmc.chain_method) if mcmc.num_chains > 1 else "one chain",
        "jit_model_args": str(mcmc._jit_model_args),
        "collected fields": ", ".join((*collected.fields, *(f"~{n}" for n in collected.removed))),
        "collect_warmup": str(collect_warmup),
        "init_params": _words(init_params),
        "post_warmup_state": _words(
            [_leaf(leaf) for leaf in jax.tree.leaves(mcmc.post_warmup_state)]
        ),
        "precision": "64 bits" if jax.config.read("jax_enable_x64") else "32 bits",
        "matmul precision": _matmul_precision(),
    }
    if mcmc.postprocess_fn is not None:
        found["postprocess_fn"] = _function(mcmc.postprocess_fn)
    machine = {
        "machine.device": f"{jax.default_backend()}: {jax.devices()[0].device_kind}",
        "machine.processor": f"{platform.machine()} {_processor()}".strip(),
        "machine.XLA_FLAGS": os.environ.get("XLA_FLAGS", "").strip(),
    }
    versions = {f"versions.{name}": version(name) for name in PACKAGES}
    return found | machine | versions | {"versions.numpyro_sgmcmc": VERSION}


def program_identity(function: Any, given: Any) -> str:
    """Return a checksum of the computation that `function` does with a pytree.

    It covers what the named entries do not: helper functions and constants of the model, and the
    code of the kernel.
    """
    shaped = jax.tree.map(_shaped, given)
    closed = jax.make_jaxpr(function)(shaped)
    found = hashlib.sha256(re.sub(r"0x[0-9a-f]+", "", str(closed.jaxpr)).encode())
    for constant in closed.consts:
        found.update(_leaf(constant).encode())
    return found.hexdigest()[:16]


def _shaped(leaf: Any) -> Any:
    is_array = isinstance(leaf, jax.Array | np.ndarray)
    return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) if is_array else leaf


def check_same(
    old: Mapping[str, str], new: Mapping[str, str], folder: str, allows_other_bits: bool
) -> list[str]:
    """Return the differences that are allowed, in words; refuse others.

    Args:
        old: the identity of the folder's run.
        new: the identity of this run.
        folder: the folder, for the message.
        allows_other_bits: whether differences are allowed that change only the bits of draws.

    Raises:
        ValueError: if something else differs; the message names it, with both values.
    """
    differing = {n: (old.get(n), new.get(n)) for n in old.keys() | new.keys()}
    differing = {n: pair for n, pair in sorted(differing.items()) if pair[0] != pair[1]}
    # Another version may compute the same with another program. Without one, the model has changed.
    has_other_bits = any(n.startswith(ONLY_BITS) and n != PROGRAM for n in differing)
    may = [n for n in differing if n.startswith(ONLY_BITS) and (n != PROGRAM or has_other_bits)]
    words = [f"{n}: {a} before, {b} now" for n, (a, b) in differing.items()]
    refused = [n for n in differing if n not in may or not allows_other_bits]
    if not refused:
        return words
    remedy = "Use the arguments of the folder's run, or choose another `folder`."
    if set(refused) <= set(may):
        remedy = (
            "The draws to come would have the same distribution, but not the same bits. Use what"
            ' the run began with, choose another `folder`, or go on with resume="law".'
        )
    elif refused == [PROGRAM]:
        remedy = (
            "Something that the model or the kernel uses has changed, such as a helper function or"
            f" a constant. {remedy}"
        )
    raise ValueError(
        f"Expected the run that {folder!r} was begun with; got another one. It differs in"
        f" {'; '.join(words)}. {remedy}"
    )


def _function(function: Any) -> str:
    if function is None:
        return "none"
    if isinstance(function, partial):
        inside = _words([*function.args, function.keywords])
        return f"partial of {_function(function.func)} with {inside}"
    name = getattr(function, "__qualname__", type(function).__qualname__)
    try:
        text = textwrap.dedent(inspect.getsource(inspect.unwrap(function)))
    except (OSError, TypeError):
        return name
    try:  # without comments and line breaks
        text = ast.unparse(ast.parse(text))
    except SyntaxError:
        text = text.strip()
    return f"{name}, source {hashlib.sha256(text.encode()).hexdigest()[:12]}"


def _options(kernel: Any) -> dict[str, str]:
    if isinstance(kernel, NumPyroKernel):
        values = {f.name: getattr(kernel.options, f.name) for f in fields(kernel.options)}
        return {name: _words(value) for name, value in (values | kernel.settings).items()}
    simple = bool | int | float | str
    return {n.lstrip("_"): repr(v) for n, v in vars(kernel).items() if isinstance(v, simple)}


def _arguments(function: Any, model: tuple[tuple, dict]) -> list[tuple[str, Any]]:
    args, kwargs = model
    try:
        named: dict[str, Any] = dict(inspect.signature(function).bind(*args, **kwargs).arguments)
    except (TypeError, ValueError):
        named = {str(i): value for i, value in enumerate(args)} | kwargs
    leaves = jax.tree_util.tree_leaves_with_path(named)
    return [(jax.tree_util.keystr(path), leaf) for path, leaf in leaves]


def _words(value: Any) -> str:
    """Return a part as it would be written, arrays by their content."""
    if value is None or isinstance(value, bool | int | float | str):
        return repr(value)
    if isinstance(value, jax.Array | np.ndarray | np.generic):
        return _leaf(value)
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{n}: {_words(v)}' for n, v in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_words, value))}]"
    if is_dataclass(value) and not isinstance(value, type):
        inside = [f"{f.name}={_words(getattr(value, f.name))}" for f in fields(value)]
        return f"{type(value).__name__}({', '.join(inside)})"
    return _function(value)


def _leaf(leaf: Any) -> str:
    """Return type, shape and checksum of an array; other values as they are written."""
    if isinstance(leaf, jax.Array) and jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        words = np.asarray(jax.random.key_data(leaf)).ravel().tolist()
        return f"{jax.random.key_impl(leaf)} {words}"
    if not (isinstance(leaf, jax.Array | np.ndarray | np.generic) or hasattr(leaf, "__array__")):
        return repr(leaf) if isinstance(leaf, bool | int | float | str) else _function(leaf)
    array = np.asarray(leaf)
    if array.dtype == object:
        return f"objects {array.shape}"
    content = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
    return f"{array.dtype} {array.shape} {hashlib.blake2b(content, digest_size=8).hexdigest()}"


def _matmul_precision() -> str:
    config: Any = jax.config
    return str(config.jax_default_matmul_precision)


def _processor() -> str:
    """Return the model of the processor, on which the instructions of a program depend."""
    try:
        with open("/proc/cpuinfo") as lines:
            return next((x.split(":")[1].strip() for x in lines if x.startswith("model name")), "")
    except OSError:
        return platform.processor()
