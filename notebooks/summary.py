# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Summary
# Which link trains faster on this machine, by how much, and how sure that is.

# %% tags=["parameters"]
root = None
campaign = None
confidence = None
language = None

# %%
from commwall.report import figures, narrative, overview, replication
from commwall.report.page import open_page
from commwall.report.platforms import page as platforms
from commwall.report.style import picture

page = open_page(root, campaign, confidence, language)
narrative.headline(page)

# %% [markdown]
# ## Verdict

# %%
overview.answer_cards(page)

# %%
overview.verdict_tables(page)

# %%
picture(
    figures.ratios_figure(page.tables),
    "Throughput ratio: line = confidence interval if n > 1, large mark = geometric mean, small "
    "dots = rounds, grey = noise floor if known. Right of 1 the first of the two is faster.",
)

# %% [markdown]
# ## Evidence

# %%
picture(
    figures.quantity_figure(page.tables, page.looks, figures.PRIMARY),
    "Throughput: bar = geometric mean over rounds, line = interval if n > 1, marks = rounds.",
)

# %%
overview.quantity_tables(page)

# %%
replication.section(page)

# %% [markdown]
# ## What was compared

# %%
platforms.treatments(page)

# %%
narrative.cases(page)

# %% [markdown]
# ## What this does not show

# %%
narrative.not_covered(page)

# %% [markdown]
# ### Missing, refused, doubtful

# %%
narrative.gaps(page)

# %% [markdown]
# ## Provenance

# %%
narrative.provenance(page)
