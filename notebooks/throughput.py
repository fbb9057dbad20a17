# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Throughput and where the step's time goes
# Why one link trains faster than the other.

# %% tags=["parameters"]
root = None
campaign = None
confidence = None
language = None

# %%
from commwall.analysis.quantities import Quantity
from commwall.report import exposed, figures, limits, narrative, overview
from commwall.report.page import open_page
from commwall.report.style import picture

page = open_page(root, campaign, confidence, language)
narrative.headline(page)

# %% [markdown]
# ## Verdict

# %%
overview.topic_cards(page, overview.TRAINING)

# %%
narrative.decomposition(page)

# %% [markdown]
# ## Where the time goes
# Exposed communication is step time of `full` (training step with gradient exchange) minus
# `nosync` (the same step without it): what compute does not hide. Part of it is packing gradients
# into buckets, which takes as long on any link (`packed` minus `nosync`).

# %%
picture(
    figures.step_parts_figure(page.tables, page.looks),
    "Step time, split: solid = compute, pale = packing if measured, white = what else compute does "
    "not hide; line = confidence interval of the whole step if n > 1, marks = its rounds.",
)

# %%
picture(
    figures.legs_figure(page.tables, page.looks),
    "Each leg: full = training step, nosync = without exchange, packed = the same with the packing "
    "of buckets, comm = exchange alone, single = one process alone. Bar = geometric mean over "
    "rounds, line = interval if n > 1, marks = rounds.",
)

# %% [markdown]
# ## What limits a step
# The largest part of a step: the link, the host, or the device's own work, and of that the nearer
# of its two bounds. Rounds that the host decides count here, though in no verdict.

# %%
limits.limit_table(page)

# %%
picture(
    limits.limit_figure(page.tables, page.looks),
    "How a step of leg full divides: medians over the rounds, negative parts drawn as 0.",
)

# %% [markdown]
# ## Overlap and scaling
# Overlap is the share of the exchange hidden behind compute, packing not counted; scaling is
# throughput over that of as many independent single processes.

# %%
picture(
    figures.quantity_figure(page.tables, page.looks, Quantity("overlap_ratio")),
    "Overlap: bar = mean over rounds, line = interval if n > 1, marks = rounds. Below 0 "
    "a step took longer than compute and the bare exchange in turn; what that says stands below.",
)

# %%
exposed.exposed_note(page)

# %%
picture(
    figures.quantity_figure(page.tables, page.looks, Quantity("scaling_efficiency")),
    "Scaling efficiency: bar = geometric mean over rounds, line = interval if n > 1, marks = "
    "rounds.",
)

# %% [markdown]
# ## Are the numbers sound?
# Every timed step, then the losses: a treatment may change the speed, never the result.

# %%
picture(
    figures.steps_figure(page.tables, page.looks),
    "Every timed step of leg full, one mark for each rank and step.",
)

# %%
picture(figures.losses_figure(page.tables, page.looks), "Training loss of the first steps.")

# %%
narrative.loss_table(page)

# %% [markdown]
# ## What this does not show

# %%
narrative.not_covered(page, "training")

# %%
narrative.gaps(page, "training")

# %% [markdown]
# ## Provenance

# %%
narrative.provenance(page, "training")
