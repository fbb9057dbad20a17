# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Collectives
# What each link carries, by operation and message size.

# %% tags=["parameters"]
root = None
campaign = None
confidence = None
language = None

# %%
from commwall.analysis.quantities import ALGBW, BUSBW, OPERATION_TIME
from commwall.report import narrative, overview
from commwall.report.operations import collectives
from commwall.report.page import open_page
from commwall.report.style import picture

page = open_page(root, campaign, confidence, language)
narrative.headline(page)

# %% [markdown]
# ## Verdict
# Bus bandwidth is the size divided by the time, times the share of it that each link carries:
# it can be compared between operations, and with the rate of the link.

# %%
overview.topic_cards(page, *overview.COLLECTIVES)

# %% [markdown]
# ## Bus bandwidth over message size

# %%
picture(
    collectives.busbw_figure(page),
    "Bus bandwidth: line = median of the rounds, marks = rounds; hollow where the CPU under the "
    "emulated link, not the link, set the time. Dashed: the line fitted below. Axes are "
    "logarithmic.",
)

# %% [markdown]
# ## Latency and rate of the link
# A line is fitted to the times of each round so that relative misfits are least: small and large
# messages count alike. A link whose protocol changes with the size is no line; the misfit says how
# far off it is at worst, and beyond the sizes it says nothing.

# %%
collectives.fits(page)

# %% [markdown]
# ## How they were carried out
# What NCCL's log tells of algorithm, protocol and channels.

# %%
collectives.choices(page)

# %% [markdown]
# ## As an eager program sees it
# On a GPU the times of this page are those of recorded repetitions, which the GPU starts by itself.
# A program that asks for each operation waits for the host as well. NCCL's log was on meanwhile,
# which costs the host some microseconds a call.

# %%
collectives.eager(page)

# %% [markdown]
# ## Beside nccl-tests
# Its programs are timed by the host's calls in one process for all GPUs; small messages then take
# longer than replayed ones do.

# %%
collectives.yardsticks(page)

# %% [markdown]
# ## Every size

# %%
collectives.sizes(page, BUSBW)

# %%
collectives.sizes(page, ALGBW)

# %%
collectives.sizes(page, OPERATION_TIME)

# %% [markdown]
# ## What this does not show
# Operations follow each other without compute beside them; a model's exchange competes with
# its kernels for memory and processors. Where a switch reduces on the way, bus bandwidth is no
# rate on the wire.

# %%
narrative.not_covered(page, "collectives")

# %%
narrative.gaps(page, "collectives")

# %% [markdown]
# ## Provenance

# %%
narrative.provenance(page, "collectives")
