# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Scaling
# What more GPUs bring over one link, and how well records of few foretell it.

# %% tags=["parameters"]
root = None
campaign = None
confidence = None
language = None

# %%
from commwall.analysis.scaling.tables import scaling_tables
from commwall.report import narrative, switch
from commwall.report.page import open_page
from commwall.report.scaling import page as scaling
from commwall.report.scaling.figure import scaling_figure
from commwall.report.style import picture

page = open_page(root, campaign, confidence, language)
narrative.headline(page)

# %% [markdown]
# ## Verdict

# %%
found = scaling_tables(page.analysis)
scaling.verdict(page, found)

# %%
switch.switch_note(page, root)

# %% [markdown]
# ## The curve
# Every process has the same batch, so that twice as many would train twice as fast over a link that
# costs nothing.

# %%
picture(
    scaling_figure(page, found),
    "Throughput: mark = geometric mean over rounds, bar = interval, dotted = one process alone, as "
    "often as there are processes.",
)

# %%
scaling.curve(page, found)

# %% [markdown]
# ## Foretold from fewer

# %%
scaling.foretold(page, found)

# %%
scaling.predictions(page, found)

# %%
scaling.rule(found)

# %% [markdown]
# ## What this does not show

# %%
scaling.not_shown()

# %%
narrative.not_covered(page, "training")

# %%
narrative.gaps(page, "training")

# %% [markdown]
# ## Provenance

# %%
narrative.provenance(page, "training", "collectives")
