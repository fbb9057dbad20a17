# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Trends
# What several campaigns measured, over dates, drivers and versions.

# %% tags=["parameters"]
root = None
confidence = None
language = None

# %%
from commwall.report import provenance
from commwall.report.trends import page as trends

page = trends.open_trends(root, confidence, language)
trends.headline(page)

# %% [markdown]
# ## Over time

# %%
trends.figures(page)

# %% [markdown]
# ## First and last

# %%
trends.changes(page)

# %% [markdown]
# ## Every value

# %%
trends.every_value(page)

# %% [markdown]
# ## Measured once

# %%
trends.alone(page)

# %% [markdown]
# ## What this does not show

# %%
trends.not_shown(page)

# %% [markdown]
# ## Provenance
# Values come from the records of all campaigns in `results/`, each verified against its digest.
# `commwall compare A B` prints what has changed between two of them.

# %%
provenance.campaigns(page.campaigns)
