# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Decision report
# Which link to buy or rent, for a reader who decides; the evidence for engineers is linked below.

# %% tags=["parameters"]
root = None
campaign = None
confidence = None
language = None

# %%
from commwall.report import decision_page as report
from commwall.report import narrative

page = report.open_decision(root, campaign, confidence, language)
narrative.headline(page.money.page)

# %% [markdown]
# ## Question

# %%
report.question(page)

# %% [markdown]
# ## Verdict

# %%
report.verdict(page)

# %%
report.figure(page)

# %% [markdown]
# ## Money

# %%
report.money(page)

# %% [markdown]
# ## Energy

# %%
report.energy(page)

# %% [markdown]
# ## What this does not show

# %%
report.not_measured(page)

# %% [markdown]
# ## How to repeat it

# %%
report.repeat(page)

# %% [markdown]
# ## Evidence

# %%
report.evidence(page)

# %% [markdown]
# ## Provenance

# %%
narrative.provenance(page.money.page)
