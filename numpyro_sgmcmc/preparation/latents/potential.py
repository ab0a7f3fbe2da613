"""The joint potential of a view of a model with latents of rows."""

from numpyro_sgmcmc.model.local import JointPotential
from numpyro_sgmcmc.preparation.target import View


def potential_of(view: View) -> JointPotential:
    """Return the joint potential of a model with latents of rows."""
    found = view.potential
    assert isinstance(found, JointPotential)
    return found
