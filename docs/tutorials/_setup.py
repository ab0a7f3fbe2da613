"""Style of the figures and warnings in the notebooks: `%run _setup.py`."""

import warnings

import matplotlib.pyplot as plt
from matplotlib_inline.backend_inline import set_matplotlib_formats

set_matplotlib_formats("svg")
plt.rcParams.update(
    {
        "figure.figsize": (6.4, 3.4),
        "figure.constrained_layout.use": True,
        "font.size": 10,
        "axes.titlesize": 10,
        "axes.titlelocation": "left",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.alpha": 0.3,
        "legend.frameon": False,
        "axes.prop_cycle": plt.cycler(
            color=["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"]
        ),
    }
)
# Warnings in a notebook would name a temporary file.
warnings.filterwarnings("ignore", message="IProgress not found")
warnings.formatwarning = lambda message, category, *_: f"{category.__name__}: {message}\n"
