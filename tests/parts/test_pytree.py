"""Structures of pytrees tell classes apart, so that no class runs another's compiled program."""

import dataclasses
import pickle

import jax
import pytest

from numpyro_sgmcmc import dynamics, gradient
from numpyro_sgmcmc.pytree import as_pytree


def same_fields(count):
    """Return classes that differ in their name and in what they return only."""

    def build(number):
        @as_pytree()
        @dataclasses.dataclass(frozen=True)
        class Part:
            value: float

            def number(self):
                return self.value + number

        return Part

    return [build(number) for number in range(count)]


def test_every_class_has_its_own_structure_and_program():
    """With JAX's own registration all structures are equal, and a few of 40 calls are wrong."""
    kinds = same_fields(40)
    structures = [jax.tree.structure(kind(0.0)) for kind in kinds]
    assert all(a != b for i, a in enumerate(structures) for b in structures[:i])
    number = jax.jit(lambda part: part.number())
    assert [int(number(kind(0.0))) for kind in kinds] == list(range(40))


def test_dynamics_with_equal_fields_have_different_structures():
    kinds = dynamics.Hamiltonian, dynamics.Splitting, dynamics.ExactFriction
    assert len({jax.tree.structure(kind(1.5)) for kind in kinds}) == 3
    assert jax.tree.structure(gradient.Plain()) == jax.tree.structure(gradient.Plain())


@as_pytree(static=("name",))
@dataclasses.dataclass(frozen=True)
class Named:
    name: str
    size: float


def test_static_fields_are_structure_and_others_are_children():
    one = Named("a", 2.0)
    assert jax.tree.map(lambda x: 2 * x, one) == Named("a", 4.0)
    assert jax.tree.structure(one) == jax.tree.structure(Named("a", 3.0))
    assert jax.tree.structure(one) != jax.tree.structure(Named("b", 2.0))
    [(path, leaf)] = jax.tree_util.tree_leaves_with_path(one)
    assert (jax.tree_util.keystr(path), leaf) == (".size", 2.0)
    assert pickle.loads(pickle.dumps(one)) == one


def test_an_unknown_static_field_is_refused():
    with pytest.raises(ValueError, match=r"Expected static fields among value; got 'other'"):
        as_pytree(static=("other",))(dataclasses.make_dataclass("Part", ["value"]))
