"""What `torch.distributions` does with the devices of parameters and values (torch/distributions/*.py)."""

from __future__ import annotations

MODULES = "torch.distributions"

FAMILIES = frozenset(
    (
        "Normal Uniform Laplace Cauchy Gumbel LogNormal HalfNormal HalfCauchy Exponential Gamma Beta Bernoulli Poisson StudentT "
        "Dirichlet Categorical OneHotCategorical MultivariateNormal Weibull Pareto Kumaraswamy Chi2 FisherSnedecor InverseGamma "
        "ContinuousBernoulli Geometric VonMises LogisticNormal LowRankMultivariateNormal"
    ).split()
)
"""Distributions that are made from tensors or numbers, and compute with them."""

WRAPPERS = {
    "Independent": (0, "base_distribution"),
    "MixtureSameFamily": (1, "component_distribution"),
}
"""Distributions that are made from another one, and which argument that is."""

PICKS = {"MixtureSameFamily": (0, "mixture_distribution")}
"""Those that draw from one of several components, by the weights of another distribution: a single draw may have no dimension left."""

OF_VECTORS = {
    "Dirichlet": True,
    "OneHotCategorical": True,
    "MultivariateNormal": True,
    "LowRankMultivariateNormal": True,
    "LogisticNormal": True,
    "Categorical": False,
}
"""Distributions whose last parameter dimension is the event's: whether one sample has it too."""

DRAWS = frozenset({"sample", "rsample"})
"""Methods whose result is where the parameters are."""

ASKS = frozenset({"log_prob", "cdf"})
"""Methods that compute with a value and the parameters."""

CONVERTS = frozenset({"Gamma", "Chi2", "HalfCauchy"})
"""Distributions whose `log_prob` copies the value to the parameters first."""

GATHERS = frozenset({"Categorical"})
"""Distributions whose `log_prob` picks by the value: it has to be where the parameters are, though it be a number."""

PARAMETERS = frozenset(
    {"mean", "stddev", "variance", "mode", "probs", "logits", "loc", "scale", "rate", "concentration"}
)
"""Attributes that are parameters or computed from them."""
