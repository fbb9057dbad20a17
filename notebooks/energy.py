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
language = None

# %%
from commwall.analysis.quantities import Quantity
from commwall.report import figures, narrative, overview
from commwall.report.energy import gpu_use, page as energy, power_trace
from commwall.report.page import open_page
from commwall.report.style import picture

page = open_page(root, campaign, confidence, language)
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
    "Samples per watt-hour: bar = geometric mean over rounds, line = interval if n > 1, marks = "
    "rounds.",
)

# %% [markdown]
# ## Power and time apart
# A slow link lowers the power, since GPUs that wait draw less, and lengthens the time. Energy per
# sample is their product: the ratio of energies is that of powers times that of times.

# %%
energy.parts_table(page)

# %% [markdown]
# ## Power
# From the energy counter over the timed window, beside it what the driver says when polled and
# what the GPUs take idle: the lowest power that was seen before a launch.

# %%
picture(
    energy.power_figure(page.tables, page.looks),
    "Power of all GPUs of a launch: bar = by the counter, open mark = polled, dash = idle; "
    "medians over rounds.",
)

# %%
energy.energy_table(page)

# %%
picture(
    power_trace.trace_figure(page.tables, page.looks),
    "Polled power of all GPUs together in one round; dotted = idle. The driver "
    "averages over about a second, so that the beginning of a window still shows the rest before.",
)

# %% [markdown]
# ## How well the GPUs are used
# What the GPUs count of themselves, then MFU: the share of a GPU's arithmetic that the model's own
# operations take.

# %%
gpu_use.use_table(page)

# %%
picture(
    figures.quantity_figure(page.tables, page.looks, Quantity("mfu")),
    "Model FLOPs utilisation: bar = geometric mean over rounds, line = interval if n > 1, marks = "
    "rounds.",
)

# %% [markdown]
# ## Clocks, temperatures, disturbance
# A GPU that heat or its supply slows, or that others use as well, is marked and kept out of
# verdicts. One at its power limit is told, and verdicts stand.

# %%
gpu_use.disturbance_table(page)

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
narrative.provenance(page, "training")
