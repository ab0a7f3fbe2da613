"""Links for types, whose names contain the defining module instead of the public one."""

from sphinx.ext.intersphinx import missing_reference

ALIASES = {"jax.jaxlib._jax.Array": "jax.Array", "jaxlib._jax.Array": "jax.Array"}


def _resolve(app, env, node, contnode):
    """Link an object of this package by its last name, and JAX's array by its public name."""
    target = node.get("reftarget", "")
    if node.get("refdomain") != "py":
        return None
    if target in ALIASES:
        node["reftarget"] = ALIASES[target]
        return missing_reference(app, env, node, contnode)
    if not target.startswith("numpyro_sgmcmc."):
        return None
    domain = env.domains.python_domain
    last = target.rsplit(".", 1)[-1]
    found = [name for name in domain.objects if name.rsplit(".", 1)[-1] == last]
    if not found:
        return None
    # Two classes can have the same name, such as `Estimate` of a gradient and of an expectation.
    nearest = max(found, key=lambda name: _shared(name, target))
    return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", nearest, node, contnode)


def _shared(first, second):
    """Return the number of leading parts that two dotted names have in common."""
    pairs = list(zip(first.split("."), second.split("."), strict=False))
    return next((n for n, (a, b) in enumerate(pairs) if a != b), len(pairs))


def setup(app):
    app.connect("missing-reference", _resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
