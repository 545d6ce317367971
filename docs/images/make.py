"""The README's picture: tumours of TCGA along their tree.

    python docs/images/make.py [TABLE.csv.gz]

Without a table the cohort is downloaded.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import skeltraj as st

adata = st.datasets.tcga_brca(*sys.argv[1:2])
X = np.asarray(adata.X)
adata.X = (X - X.mean(axis=0)) / X.std(axis=0)
st.tl.ddrtree(adata, 0.9, preset="kdd2015", lam=5 * adata.n_obs, progress=True)  # the paper's values
st.tl.order(adata, root={"subtype": "normal tissue"})

figure, (left, right) = plt.subplots(1, 2, figsize=(13, 5.2), layout="constrained", width_ratios=[1, 1.15])
st.pl.progression(adata, "subtype", ax=left, title="Breast tumours along their tree")
left.get_legend().remove()
st.pl.dendrogram(adata, color="subtype", ax=right, title="The tree unfolded from normal tissue")
figure.savefig(Path(__file__).parent / "breast_cancer.png", dpi=130)
