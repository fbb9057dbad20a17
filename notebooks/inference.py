# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Inference
# A decoder whose layers are cut over all processes (tensor parallelism) answers, on each link.

# %% tags=["parameters"]
root = None
campaign = None
confidence = None
language = None

# %%
from commwall.analysis import quantities
from commwall.report import figures, narrative, overview, step_bytes
from commwall.report.page import open_page
from commwall.report.style import picture

page = open_page(root, campaign, confidence, language)
narrative.headline(page)

# %% [markdown]
# ## Verdict
# A token is generated layer by layer, with two small exchanges in each: there the latency of the
# link counts. Prompts are read with large ones: there its rate counts.

# %%
overview.topic_cards(page, overview.DECODE, overview.PREFILL)

# %% [markdown]
# ## Tokens per second

# %%
picture(
    figures.quantity_figure(page.tables, page.looks, quantities.DECODE_TOKENS),
    "Tokens generated per second, all answers together: bar = mean of the rounds, marks = rounds.",
)

# %%
columns = {
    "time per token": quantities.TOKEN_TIME,
    "tokens": quantities.DECODE_TOKENS,
    "per GPU": quantities.DECODE_TOKENS_PER_GPU,
}
step_bytes.values_table(page, "inference", columns, "Generating: median of the rounds.")

# %%
columns = {"time of all prompts": quantities.PREFILL_TIME, "tokens": quantities.PREFILL_TOKENS}
step_bytes.values_table(page, "inference", columns, "Reading prompts: median of the rounds.")

# %% [markdown]
# ## Against the memory
# For each token a GPU reads its part of the weights, and the cache as it is allocated. Divided by
# the nominal rate of its memory that is the least time a token can take; the rest is the link's,
# the host's and that of kernels too small to fill the memory's pipes.

# %%
columns = {"share of the memory bound": quantities.HBM_SHARE}
step_bytes.values_table(page, "inference", columns, "Median of the rounds; 1 is the bound.")

# %% [markdown]
# ## Bytes of a token
# Two all-reduces in each layer and the scores of all words. NCCL sends flags with small messages,
# which NVLink's counters count as well: up to twice the formula.

# %%
step_bytes.sent(page, "inference")

# %% [markdown]
# ## What was measured

# %%
narrative.cases(page, "inference")

# %% [markdown]
# ## What this does not show
# The weights are random and the likeliest word is taken, so answers say nothing; times do not
# depend on them. All answers of a batch are equally long, the cache is as long as prompt and answer
# from the first token on, and there is no queue of requests, no paging, no speculation and no
# 8-bit weights: a serving program may be faster or slower.

# %%
narrative.not_covered(page, "inference")

# %%
narrative.gaps(page, "inference")

# %% [markdown]
# ## Provenance

# %%
narrative.provenance(page, "inference")
