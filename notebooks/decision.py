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
from commwall.report import narrative
from commwall.report.decision import page as decision

page = decision.open_decision(root, campaign, confidence, language)
narrative.headline(page.money.page)

# %% [markdown]
# ## Question

# %%
decision.question(page)

# %% [markdown]
# ## Verdict

# %%
decision.verdict(page)

# %%
decision.figure(page)

# %% [markdown]
# ## Money

# %%
decision.money(page)

# %% [markdown]
# ## Energy

# %%
decision.energy(page)

# %% [markdown]
# ## What this does not show

# %%
decision.not_measured(page)

# %% [markdown]
# ## How to repeat it

# %%
decision.repeat(page)

# %% [markdown]
# ## Evidence

# %%
decision.evidence(page)

# %% [markdown]
# ### Missing, refused, doubtful

# %%
narrative.gaps(page.money.page)

# %% [markdown]
# ## Provenance

# %%
narrative.provenance(page.money.page)
