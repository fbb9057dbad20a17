# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Published claims
# What articles say of links and GPUs, judged by rules: arithmetic, units and directions, bounds,
# and the conditions under which a statement would hold.

# %% tags=["parameters"]
root = None
confidence = None
language = None

# %%
from commwall.report import claims, provenance

page = claims.open_claims(root, confidence, language)
claims.headline(page)

# %% [markdown]
# ## Verdict

# %%
claims.counts(page)

# %% [markdown]
# ## Claim by claim
# Rates are in one direction here, whatever the text adds up.

# %%
claims.texts(page)

# %% [markdown]
# ## Beside what was measured

# %%
claims.measured(page)

# %% [markdown]
# ## What this does not show

# %%
claims.not_shown(page)

# %% [markdown]
# ## Provenance
# Claims are in `config/facts/claims`, constants in `config/facts`, rules in the package
# `commwall.claims`; `commwall claims` prints the same with all sources.

# %%
provenance.campaigns(page.campaigns)
