# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Prediction
# What a training step would take over another link, from training on one link and sweeps of both,
# and how far off that is where it can be checked.

# %% tags=["parameters"]
root = None
campaign = None
confidence = None
language = None

# %%
from commwall.report import narrative
from commwall.report.page import open_page
from commwall.report.prediction import page as prediction, rule as prediction_rule
from commwall.report.prediction.figure import prediction_figure
from commwall.report.style import picture

page = open_page(root, campaign, confidence, language)
narrative.headline(page)

# %% [markdown]
# ## Verdict

# %%
prediction.verdict(page)

# %% [markdown]
# ## Predicted and measured

# %%
picture(
    prediction_figure(page),
    "Above: each predicted step over the measured one, on the line if they agree. Below: how far "
    "off each is, with its interval; an interval that reaches 0 holds the measured step.",
)

# %%
prediction.predictions(page)

# %% [markdown]
# ## Where it misses
# The target's own measurements are put in place of the inputs, one after another: its compute legs,
# then what its exchange really took. What is then left is contention, and the model's form. The
# three multiply to the whole error.

# %%
prediction.reasons(page)

# %% [markdown]
# ## How a step is predicted

# %%
prediction_rule.rule(page)

# %%
prediction.models(page)

# %% [markdown]
# ## Other batches and bucket sizes
# Another batch has compute legs of its own, which are taken; what its exchange costs is predicted.
# Larger buckets are joined from neighbours, on the same times of the same gradients: one is ready
# with its last part.

# %%
prediction.cases(page)

# %%
prediction.bucket_sizes(page)

# %% [markdown]
# ## What this does not show

# %%
prediction_rule.not_shown()

# %%
narrative.not_covered(page, "training")

# %%
narrative.gaps(page, "training")

# %% [markdown]
# ## Provenance

# %%
narrative.provenance(page, "training", "collectives")
