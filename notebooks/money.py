# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Money
# Whether the faster link is worth its price, and what would turn that answer.

# %% tags=["parameters"]
root = None
campaign = None
confidence = None
language = None

# %%
from commwall.report import narrative
from commwall.report.money import page as money
from commwall.report.style import picture

page = money.open_money(root, campaign, confidence, language)
narrative.headline(page.page)

# %% [markdown]
# ## Verdict

# %%
money.verdict_cards(page)

# %%
money.verdict_table(page)

# %%
picture(
    money.results_picture(page),
    "Mark = median, line = interval of the draws, right = share of the draws in which the faster "
    "link is worth it. Blue: take it; red: do not; grey: cannot tell. Hollow: cannot tell, or the "
    "gain has no interval.",
)

# %% [markdown]
# ## What drives it

# %%
picture(
    money.swings_picture(page),
    "Each bar: one number over its own range, all others at their middle (dashed). Blue: worth "
    "it; red: not.",
)

# %% [markdown]
# ## What turns it
# Solved, not sampled: the value of one number at which the answer turns.

# %%
money.flips_table(page)

# %% [markdown]
# ## Costs of the same work

# %%
money.costs_table(page)

# %% [markdown]
# ## What it rests on
# `config/economics.yaml`: replace its numbers by yours and run again.

# %%
money.assumptions_table(page)

# %% [markdown]
# ## What this does not show

# %%
money.not_shown(page)

# %%
narrative.not_covered(page.page, "training")

# %%
narrative.gaps(page.page, "training")

# %% [markdown]
# ## Provenance

# %%
narrative.provenance(page.page, "training")
