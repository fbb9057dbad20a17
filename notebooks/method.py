# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Method
# How the numbers of this campaign were made, for a reader who does not take them on trust.

# %% tags=["parameters"]
root = None
campaign = None
confidence = None
language = None

# %%
from commwall.report import method, narrative
from commwall.report.page import open_page

page = open_page(root, campaign, confidence, language)
narrative.headline(page)

# %% [markdown]
# ## Verdict

# %%
method.made(page)

# %% [markdown]
# ## What is timed

# %%
method.legs(page)

# %%
method.windows(page)

# %%
method.steps(page)

# %%
method.repetitions(page)

# %% [markdown]
# ## From rounds to a verdict

# %%
method.intervals(page)

# %%
method.noise_floors(page)

# %% [markdown]
# ## What was checked, marked and refused

# %%
method.records(page)

# %%
method.checks(page)

# %%
method.marks(page)

# %% [markdown]
# ## Every quantity on these pages

# %%
method.metrics(page)

# %% [markdown]
# ## What this does not show

# %%
narrative.not_covered(page)

# %%
narrative.gaps(page)

# %% [markdown]
# ## Provenance

# %%
narrative.provenance(page)
