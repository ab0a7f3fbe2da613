"""A cache of what a kernel's runs computed for their data."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, final
from weakref import WeakKeyDictionary

from numpyro_sgmcmc.cpu.soundness import check_compiler
from numpyro_sgmcmc.kernels.constants import warn_about_copied_files
from numpyro_sgmcmc.kernels.progress import Progress
from numpyro_sgmcmc.model import (
    Fingerprint,
    Structure,
    edited_in_place,
    fingerprint,
    read_structure,
)
from numpyro_sgmcmc.preparation import (
    AbstractPasses,
    Adaptation,
    Options,
    Prepared,
    Request,
    Target,
    prepare,
    warn_about_dropped_sites,
)
from numpyro_sgmcmc.state import DataTag, tag_of

KEPT = 8
"""Number of data sets whose settings are kept. Only the last data set itself is kept."""


@final
class Memory:
    """Targets and prepared settings, found by the content of their data.

    The cache only saves time. Without it the same values would be computed again.
    """

    def __init__(self) -> None:
        self.target: Target | None = None
        self.calls: list[float] = []  # times, by `perf_counter`, at which `init` was called
        self.progress = Progress()
        self._edition = 0
        self._known: set[Fingerprint] = set()
        self._structures: OrderedDict[Any, Structure] = OrderedDict()
        self._prepared: OrderedDict[Any, Prepared] = OrderedDict()

    @property
    def latest(self) -> Prepared | None:
        """The latest preparation, or None."""
        return next(reversed(self._prepared.values()), None)

    def bind(
        self, model: Callable, options: Options, args: tuple, kwargs: dict
    ) -> tuple[Target, DataTag]:
        """Return the model bound to the data of a new run, and the tag that identifies the data.

        Raises:
            RuntimeError: if XLA computes wrong numbers on this machine (`check_compiler`).
        """
        found = fingerprint(args, kwargs)
        last = self.target
        if last is None or last.fingerprint != found:
            check_compiler()
            if last is not None and edited_in_place(args, kwargs, (last.args, last.kwargs)):
                self._edition += 1
            structure = read_structure(model, args, kwargs, options.latent_move)
            warn_about_dropped_sites(structure)
            warn_about_copied_files(args, kwargs)
            target = Target(structure, options.minibatch, args, kwargs)
            self.target = target.with_programs_of(last)
            _keep(self._structures, found.layout, structure)
            self._known.add(found)
            self.calls = []
        assert self.target is not None
        return self.target, tag_of(found, args, kwargs, self._edition)

    def prepare(
        self,
        target: Target,
        options: Options,
        request: Request,
        tag: DataTag,
        passes: AbstractPasses | None = None,
    ) -> Prepared:
        """Return what a run starts from, prepared once for each data set and warm-up length.

        With `init_params` it is prepared again, because the search for a mode begins there. Passes
        over all rows are left to `passes`.
        """
        key = _key(target.fingerprint, options, request.num_warmup)
        known = self._prepared.get(key)
        if known is not None and request.init_params is None:
            self._prepared.move_to_end(key)
            return known
        if known is not None:  # Sequential chains must share one gradient estimator.
            options = options.with_gradient(known.tuned.gradient)
        target = target if passes is None else target.with_passes(passes)
        return _keep(self._prepared, key, prepare(target, options, request, tag))

    def remember(
        self, target: Target, options: Options, num_warmup: int, prepared: Prepared
    ) -> None:
        """Keep settings that another process prepared for these data."""
        _keep(self._prepared, _key(target.fingerprint, options, num_warmup), prepared)

    def structure_for(
        self, model: Callable, options: Options, found: Fingerprint, args: tuple, kwargs: dict
    ) -> Structure:
        """Return the structure of the model for the arguments of an iteration.

        Raises:
            ValueError: if the data differ from those that `init` was called with.
        """
        if self.target is not None and self.target.fingerprint == found:
            return self.target.structure
        if not found.is_known and found.layout in self._structures:
            return self._structures[found.layout]
        if found.is_known and self._known and found not in self._known:
            raise ValueError(
                "Expected the data that this run was started with; got others. The anchor, step"
                " size and preconditioner of a run were chosen for its data, so a run cannot"
                " continue with other data. Start a new run: set `mcmc.post_warmup_state = None`,"
                " or create a new MCMC(kernel, ...), and call `mcmc.run(key, ...)`."
            )
        structure = read_structure(model, args, kwargs, options.latent_move)
        return _keep(self._structures, found.layout, structure)

    def target_for(self, model: Callable, options: Options, args: tuple, kwargs: dict) -> Target:
        """Return the model bound to the data of a finished run."""
        found = fingerprint(args, kwargs)
        if self.target is not None and self.target.fingerprint == found:
            return self.target
        structure = read_structure(model, args, kwargs, options.latent_move)
        return Target(structure, options.minibatch, args, kwargs)

    def adaptation_for(
        self, found: Fingerprint, options: Options, num_warmup: int
    ) -> Adaptation | None:
        """Return what the warm-up chose for these data; None if it is not in the cache."""
        prepared = self._prepared.get(_key(found, options, num_warmup))
        return None if prepared is None else prepared.adaptation


def memory_of(kernel: Any) -> Memory:
    """Return a kernel's memory in this process. Copies and unpickled kernels have their own."""
    return _MEMORIES.setdefault(kernel, Memory())


_MEMORIES: WeakKeyDictionary[Any, Memory] = WeakKeyDictionary()


def _key(found: Fingerprint, options: Options, num_warmup: int) -> Any:
    """Return the key of a preparation. A kernel and those that wrap it differ in three options."""
    own = options.has_open_minibatch, options.increments, options.recentre
    return found, num_warmup, *own


def _keep(kept: OrderedDict, key: Any, value: Any) -> Any:
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > KEPT:
        kept.popitem(last=False)
    return value
