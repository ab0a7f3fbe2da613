"""The rows and draws for groups with a number for each row, such as the log likelihood."""

from typing import Any, NamedTuple

import jax
import numpy as np

from numpyro_sgmcmc.checks import check_count
from numpyro_sgmcmc.model import Structure
from numpyro_sgmcmc.results import whole


class Subset(NamedTuple):
    """The chosen rows and draws.

    Attributes:
        sites: constrained latent sites at the chosen draws, (chain, draw, ...).
        shape: number of chains and number of chosen draws.
        rows: chosen rows of the longest subsampled plate; None is all rows.
        draws: positions of the chosen draws in a chain; None is all draws.
    """

    sites: dict[str, np.ndarray]
    shape: tuple[int, int]
    rows: np.ndarray | None
    draws: np.ndarray | None

    def log_likelihood(
        self,
        structure: Structure,
        args: tuple,
        kwargs: dict,
        latents: dict[str, whole.Rowwise],
    ) -> dict[str, Any]:
        """Return log p(row | draw), (chain, draw, ...), given the latents of rows."""
        found = whole.log_likelihood(structure, args, kwargs, self.flat(), self.rows, latents)
        return self._by_chain(found)

    def posterior_predictive(
        self,
        structure: Structure,
        args: tuple,
        kwargs: dict,
        latents: dict[str, whole.Rowwise],
    ) -> dict[str, Any]:
        """Return a simulated data set for each draw, (chain, draw, ...), with a fixed key."""
        key, draws = jax.random.fold_in(jax.random.key(0), 1), self.flat()
        found = whole.posterior_predictive(structure, args, kwargs, draws, key, self.rows, latents)
        return self._by_chain(found)

    def coords(
        self, structure: Structure, dims: dict[str, Any], coords: dict[str, Any]
    ) -> dict[str, Any]:
        """Return the labels of the chosen rows and draws."""
        found: dict[str, Any] = {}
        if self.draws is not None:
            found["draw"] = self.draws
        plate = whole.longest_plate(structure)
        if self.rows is None or plate is None:
            return found
        for site in structure.observed:
            default = structure.dims.get(site, [])
            for axis, name in enumerate(default):
                if name in (plate, f"{plate}_dim"):
                    own = dims[site][axis] if axis < len(dims[site]) else name
                    labels = coords.get(own, np.arange(structure.plates[plate].size))
                    found[own] = np.asarray(labels)[self.rows]
        return found

    def flat(self) -> dict[str, np.ndarray]:
        """Return the sites with all draws along one axis."""
        return {name: value.reshape(-1, *value.shape[2:]) for name, value in self.sites.items()}

    def _by_chain(self, found: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {name: value.reshape(*self.shape, *value.shape[1:]) for name, value in found.items()}


def dims_of_marginals(structure: Structure, dims: dict[str, Any]) -> dict[str, list[str | None]]:
    """Return the names of the dimensions of log likelihoods with discrete sites summed out.

    Their dimensions are plates; `dims` holds the names of the dimensions of each observed site.
    """
    found = {}
    for sites, plates in structure.enumeration.marginals.items():
        first, default = sites[0], structure.dims.get(sites[0], [])
        own = dict(zip(default, dims.get(first, []), strict=False))
        found[whole.name_of(sites)] = [own.get(plate) or plate for plate in plates]
    return found


def chosen_subset(
    structure: Structure, posterior: dict[str, Any], rows: Any, draws: int | None
) -> Subset:
    """Return the rows and draws that a user asked for.

    Raises:
        TypeError: if a number of rows or draws is not an integer.
        ValueError: if there are fewer rows or draws, or if the model has no subsampled plate to
            choose rows from.
    """
    sites = {name: np.asarray(posterior[name]) for name in structure.prototype}
    lead = next(iter(sites.values())).shape[:2] if sites else (1, 1)
    kept = None
    if draws is not None and sites:
        count = check_count("draws", draws)
        if count > lead[1]:
            raise ValueError(
                f"Expected at most {lead[1]} `draws`, as in a chain; got {count}. Use fewer."
            )
        kept = (np.arange(count) * lead[1]) // count
        sites = {name: value[:, kept] for name, value in sites.items()}
        lead = (lead[0], count)
    return Subset(sites, (lead[0], lead[1]), _chosen_rows(structure, rows), kept)


def _chosen_rows(structure: Structure, rows: Any) -> np.ndarray | None:
    if rows is None:
        return None
    plate = whole.longest_plate(structure)
    if plate is None:
        raise ValueError(
            f"Expected a model with a subsampled plate for `rows`; got none, and rows={rows}. Omit"
            " `rows` and choose fewer `draws`."
        )
    size = structure.plates[plate].size
    if np.ndim(rows) == 0:
        count = check_count("rows", rows)
        if count > size:
            raise ValueError(
                f"Expected at most {size} `rows`, as in plate {plate!r}; got {count}. Use fewer."
            )
        return np.sort(np.random.default_rng(0).choice(size, count, replace=False))
    chosen = np.asarray(rows)
    if chosen.ndim != 1 or chosen.dtype.kind not in "iu" or not chosen.size:
        raise ValueError(f"Expected `rows` to be a number or integer positions; got {rows!r}.")
    if chosen.min() < 0 or chosen.max() >= size:
        raise ValueError(
            f"Expected `rows` between 0 and {size - 1}, positions in plate {plate!r}; got"
            f" {chosen.min()} to {chosen.max()}."
        )
    return chosen
