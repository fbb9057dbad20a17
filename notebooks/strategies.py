# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Parallel strategies
# One training step of a transformer stack, split over the processes in five ways, on each link.

# %% tags=["parameters"]
root = None
campaign = None
confidence = None
language = None

# %%
from commwall.analysis.quantities import SPLIT_STEP, STRATEGY_TOKENS
from commwall.report import figures, narrative, overview, step_bytes
from commwall.report.page import open_page
from commwall.report.style import picture

page = open_page(root, campaign, confidence, language)
narrative.headline(page)

# %% [markdown]
# ## Verdict
# Tensor parallelism waits for the link several times in every layer, expert parallelism too; a
# pipeline sends little and waits for its own stages; sharded parameters and gradients can be sent
# while the device computes.

# %%
overview.topic_cards(page, overview.STRATEGIES)

# %% [markdown]
# ## Tokens per second

# %%
picture(
    figures.quantity_figure(page.tables, page.looks, STRATEGY_TOKENS),
    "Tokens of a step of all processes per second: bar = mean of the rounds, marks = rounds.",
)

# %%
step_bytes.values_table(
    page,
    "strategies",
    {"step time": SPLIT_STEP, "tokens": STRATEGY_TOKENS},
    "Median of the rounds (least to greatest).",
)

# %% [markdown]
# ## Bytes of a step
# Counted by the link itself where it is emulated: it adds up what the step asks it to carry. Over
# NVLink by the counters of the GPUs, over steps with quiet before and after them.

# %%
step_bytes.sent(page, "strategies")

# %% [markdown]
# ## What was compared
# Before anything is timed, loss and gradient norm of three steps must be those of the whole stack
# on one process with the whole batch; on two links they must agree as well.

# %%
narrative.cases(page, "strategies")

# %% [markdown]
# ## What this does not show
# The stack has layers only, no embedding and no loss over a vocabulary. All parameters, states and
# gradients have the case's type; programs that keep a copy in float32 move more in memory.
# Pipelines and FSDP2 are driven by the host, step by step; where a GPU waits for it, the case is
# kept out of verdicts. No strategy is combined with another, and none was tuned: buckets,
# prefetching and overlap are torch's own.

# %%
narrative.not_covered(page, "strategies")

# %%
narrative.gaps(page, "strategies")

# %% [markdown]
# ## Provenance

# %%
narrative.provenance(page, "strategies")
