# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # When does the faster link pay?
# The gain of the faster link depends on how long a step computes for each byte that it exchanges.

# %% tags=["parameters"]
root = None
campaign = None
confidence = None
language = None

# %%
from commwall.report import narrative
from commwall.report.breakeven import page as breakeven, whatif
from commwall.report.page import open_page
from commwall.report.style import picture

page, facts = open_page(root, campaign, confidence, language), whatif.open_facts(root)
narrative.headline(page)

# %% [markdown]
# ## Verdict

# %%
breakeven.verdict(page)

# %% [markdown]
# ## The curve
# Marks are measured, the band is modelled: a step takes compute + exchange, less the share of the
# exchange that the backward pass hides. Full line: nothing is hidden; dashed: all that fits.

# %%
picture(
    breakeven.curve_figure(page, whatif.placed(page, facts)),
    "Gain of the faster link: marks = measured cases (line = interval), band and boxes = modelled; "
    "dotted = 1, 5 and 20 %. Linear below 1 %, logarithmic above.",
)

# %%
breakeven.points(page)

# %% [markdown]
# ## Where 1, 5 and 20 % are crossed
# Solved from the line, not read off the figure.

# %%
breakeven.crossings(page)

# %% [markdown]
# ## Other models, same GPUs and links (modelled)
# Compute, overlap and links as this campaign measured them; its ranges become the ends.

# %%
whatif.examples(page, facts)

# %% [markdown]
# ## Other GPUs (modelled)

# %%
whatif.other_gpus(facts)

# %% [markdown]
# ## Up to 1,024 GPUs (modelled)

# %%
whatif.clusters(facts)

# %%
whatif.strategies(facts)

# %% [markdown]
# ## What this does not show

# %%
breakeven.not_shown()

# %%
narrative.not_covered(page, "training")

# %%
narrative.gaps(page, "training")

# %% [markdown]
# ## Provenance

# %%
narrative.provenance(page, "training")
