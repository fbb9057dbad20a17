# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Mitigations
# What software can do about the slower link, and what it costs in loss.

# %% tags=["parameters"]
root = None
campaign = None
confidence = None
language = None

# %%
from commwall.report import mitigations, narrative
from commwall.report.page import open_page
from commwall.report.style import picture

page = open_page(root, campaign, confidence, language)
narrative.headline(page)

# %% [markdown]
# ## Verdict

# %%
mitigations.first_card(page)

# %% [markdown]
# ## What each gives and what it costs

# %%
mitigations.effects_table(page)

# %%
picture(
    mitigations.effects_figure(page),
    "Share of the gap to the faster platform: bar = mean saving over mean gap, line = interval, "
    "dotted = as fast as the faster platform; hatched = a price in loss, or one that is not "
    "settled.",
)

# %% [markdown]
# ## Forecast before measuring

# %%
mitigations.forecast_note(page)

# %% [markdown]
# ## What this does not show

# %%
mitigations.not_covered()

# %%
mitigations.missing(page)

# %%
narrative.not_covered(page, "mitigations")

# %%
narrative.gaps(page, "mitigations")

# %% [markdown]
# ## Provenance

# %%
narrative.provenance(page, "mitigations", "training")
