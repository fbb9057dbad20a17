# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Memory bandwidth
# How fast each device reaches its own memory, the host's, and that of the other devices.

# %% tags=["parameters"]
root = None
campaign = None
confidence = None

# %%
from commwall.analysis.names import MEMORY_BANDWIDTH
from commwall.report import figures, narrative, operations
from commwall.report.page import open_page
from commwall.report.style import picture

page = open_page(root, campaign, confidence)
narrative.headline(page)

# %% [markdown]
# ## Verdict
# A treatment of the link between the processes acts on none of these copies: peer copies go
# through the driver, not through NCCL. A difference here is the machine's, or noise.

# %%
operations.verdicts(page, "memory")

# %% [markdown]
# ## Bandwidth of the largest buffer
# Copy counts a read and a write, triad two reads and a write, a transfer each byte once.

# %%
picture(
    figures.quantity_figure(page.tables, page.looks, MEMORY_BANDWIDTH),
    "Memory bandwidth of one process while all work: bar = geometric mean over rounds, line = its "
    "confidence interval, marks = rounds.",
)

# %% [markdown]
# ## Every size
# Small buffers stay in caches: only a buffer well beyond them shows the memory.

# %%
operations.sizes(page, MEMORY_BANDWIDTH)

# %% [markdown]
# ## What this does not show
# The peak that the memory could reach is not known here, so no share of it is given. Each process
# works while the others do; one alone may reach more where they share a memory.

# %%
narrative.not_covered(page)

# %%
narrative.gaps(page)

# %% [markdown]
# ## Provenance

# %%
narrative.provenance(page)
