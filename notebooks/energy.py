# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Energy
# What a sample costs in energy on each link, and at which power.

# %% tags=["parameters"]
root = None
campaign = None
confidence = None

# %%
from commwall.analysis.names import Quantity
from commwall.report import energy, figures, narrative, overview
from commwall.report.page import open_page
from commwall.report.style import picture

page = open_page(root, campaign, confidence)
narrative.headline(page)

# %% [markdown]
# ## Verdict

# %%
overview.topic_cards(page, overview.ENERGY)

# %% [markdown]
# ## Samples for a watt-hour

# %%
picture(
    figures.quantity_figure(page.tables, page.looks, overview.ENERGY.quantity),
    "Samples per watt-hour: bar = geometric mean over rounds, line = interval, marks = rounds.",
)

# %% [markdown]
# ## Power
# From the energy counter over the timed window, beside it what the driver says when polled and
# what the GPUs take before the launch.

# %%
picture(
    energy.power_figure(page.tables, page.looks),
    "Power of all GPUs of a launch: bar = by the counter, open mark = polled, dash = before the "
    "launch; medians over rounds.",
)

# %%
energy.power_table(page)

# %% [markdown]
# ## How well the GPUs are used
# MFU is the share of a GPU's arithmetic that the model's own operations take.

# %%
picture(
    figures.quantity_figure(page.tables, page.looks, Quantity("mfu")),
    "Model FLOPs utilisation: bar = geometric mean over rounds, line = interval, marks = rounds.",
)

# %% [markdown]
# ## What this does not show

# %%
energy.not_covered(page)

# %%
narrative.not_covered(page, "training")

# %%
narrative.gaps(page, "training")

# %% [markdown]
# ## Provenance

# %%
narrative.provenance(page)
