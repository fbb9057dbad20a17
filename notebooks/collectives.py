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

# %%
from commwall.analysis.names import ALGBW, BUSBW, OPERATION_TIME
from commwall.report import narrative, operations
from commwall.report.page import open_page
from commwall.report.style import picture

page = open_page(root, campaign, confidence)
narrative.headline(page)

# %% [markdown]
# ## Verdict
# Bus bandwidth is the size divided by the time, times the share of it that each link carries:
# it can be compared between operations, and with the rate of the link.

# %%
operations.verdicts(page, "collectives")

# %% [markdown]
# ## Bus bandwidth over message size

# %%
picture(
    operations.size_figure(page.tables, page.looks, BUSBW),
    "Bus bandwidth: line = median of the rounds, marks = rounds; hollow where gloo under the "
    "emulated link, not the link, set the time. Both axes are logarithmic.",
)

# %% [markdown]
# ## Every size

# %%
operations.sizes(page, BUSBW)

# %%
operations.sizes(page, ALGBW)

# %%
operations.sizes(page, OPERATION_TIME)

# %% [markdown]
# ## What this does not show
# Operations follow each other without compute beside them; a model's exchange competes with
# its kernels for memory and processors. Where a switch reduces on the way, bus bandwidth is no
# rate on the wire.

# %%
narrative.not_covered(page)

# %%
narrative.gaps(page)

# %% [markdown]
# ## Provenance

# %%
narrative.provenance(page)
