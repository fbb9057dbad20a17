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
language = None

# %%
from commwall.analysis.quantities import MEMORY_BANDWIDTH
from commwall.report import figures, narrative, overview
from commwall.report.energy import gpu_use
from commwall.report.operations import memory, page as operations
from commwall.report.page import open_page
from commwall.report.style import picture

page = open_page(root, campaign, confidence, language)
narrative.headline(page)

# %% [markdown]
# ## Verdict
# A treatment of the link between the processes acts on none of these copies: peer copies go
# through the driver, not through NCCL. A difference here is the machine's, or noise.

# %%
overview.topic_cards(page, overview.MEMORY)

# %% [markdown]
# ## Bandwidth of the largest buffer
# Copy counts a read and a write, triad two reads and a write, a transfer each byte once.

# %%
picture(
    figures.quantity_figure(page.tables, page.looks, MEMORY_BANDWIDTH),
    "Memory bandwidth of one process: bar = geometric mean over rounds, line = its confidence "
    "interval if n > 1, marks = rounds.",
)

# %% [markdown]
# ## How near to the limit
# The way of each copy as the machine was probed, and the share of its nominal rate: device memory
# counts reading and writing, a link one direction, or both where copies go both ways.

# %%
memory.paths(page)

# %% [markdown]
# ## Memory bandwidth of each model
# Traffic of a GPU's own memory while it trains, by the GPU's counter, which counts what the
# exchange reads and writes there as well: bytes of a step differ between links by as much. A slow
# link lowers the rate above all because it lengthens the step, not the reverse.

# %%
gpu_use.memory_table(page)

# %%
picture(
    gpu_use.memory_figure(page.tables, page.looks),
    "Memory traffic of one GPU while training: bar = geometric mean over rounds, line = interval "
    "if n > 1, marks = rounds.",
)

# %% [markdown]
# ## What devices share
# The same copy while all devices copy, and while the others wait. A ratio of 1: each has a way of
# its own; 1/n: n devices share one.

# %%
memory.sharing(page)

# %% [markdown]
# ## Every size
# Small buffers stay in caches: only a buffer well beyond them shows the memory.

# %%
operations.sizes(page, MEMORY_BANDWIDTH)

# %% [markdown]
# ## What this does not show
# Nominal rates are vendors' figures; protocols and refresh take a part that nothing can reach. A
# GPU or link that is not on file has none, and RAM never has. Copies of pageable memory and copies
# between devices are asked for one by one, so that at small sizes the host decides. The counter of
# memory traffic is a share of the nominal rate in whole intervals: it tells neither reading from
# writing nor parts of a step apart, and no counter tells which tensors moved.

# %%
narrative.not_covered(page, "memory")

# %%
narrative.gaps(page, "memory")

# %% [markdown]
# ## Provenance

# %%
narrative.provenance(page, "memory", "training")
