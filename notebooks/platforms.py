# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Platforms
# On which machine, links and software the numbers were made, and what each treatment stands for.

# %% tags=["parameters"]
root = None
campaign = None
confidence = None
language = None

# %%
from commwall.report import narrative
from commwall.report.page import open_page
from commwall.report.platforms import page as platforms, path as path_evidence, same_machine

page = open_page(root, campaign, confidence, language)
narrative.headline(page)

# %% [markdown]
# ## Verdict

# %%
same_machine.same_machine(page)

# %% [markdown]
# ## Treatments of the link

# %%
platforms.treatments(page)

# %%
platforms.left_out(page)

# %% [markdown]
# ## Evidence of path
# A known transfer in each launch, and what counters and NCCL's log say carried it. A treatment
# that does not show there took no effect: its numbers enter no verdict.

# %%
path_evidence.traffic_table(page)

# %% [markdown]
# ## Machine

# %%
platforms.machine(page)

# %%
platforms.gpus(page)

# %%
platforms.links(page)

# %% [markdown]
# ## Software

# %%
platforms.software(page)

# %% [markdown]
# ## What differs between the records

# %%
platforms.differences(page)

# %% [markdown]
# ## Order of the rounds
# Within a round the platforms run back to back. Rounds go in pairs, an order drawn from the plan's
# seed and then its reverse.

# %%
platforms.orders(page)

# %% [markdown]
# ## What this does not show
# NVLink counters add up what all links of a GPU carried, whoever sent it; PCIe rates hold protocol
# beside payload and are read at moments, not over the whole transfer. NCCL's transport alone does
# not tell NVLink from PCIe.

# %%
narrative.not_covered(page)

# %% [markdown]
# ## Provenance

# %%
narrative.provenance(page)
