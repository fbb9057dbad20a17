# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Acceptance of a machine
# What was ordered against what the machine's own tools say: pass, warn, fail, or open where the
# files do not show it. The same page comes from `commwall judge --page FILE.html FILE…`.
#
# On the machine, save what these say, each into a file: `nvidia-smi -L`, `nvidia-smi topo -m`,
# `nvidia-smi topo -p2p r`, `nvidia-smi nvlink -s`, `nvidia-smi -q -d POWER,PERFORMANCE`,
# `NCCL_DEBUG=INFO all_reduce_perf -b 8 -e 8G -f 2 -g <all GPUs>` and `nvbandwidth`.

# %% tags=["parameters"]
root = ".."
files = []
expect = None
language = None

# %%
from commwall.report import acceptance

found = acceptance.open_files(files, expect, root, language)
acceptance.headline(found)

# %% [markdown]
# ## Expected against found

# %%
acceptance.table_of_checks(found)

# %% [markdown]
# ## Every verdict, with its lines

# %%
acceptance.table_of_findings(found)

# %%
acceptance.limits(found)
