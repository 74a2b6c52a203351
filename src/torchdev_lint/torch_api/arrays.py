"""Which functions of NumPy, pandas and scikit-learn make arrays of numbers, and how many dimensions those have at least.

Sources: https://numpy.org/doc/stable/reference/routines.html and .../random/generator.html, https://pandas.pydata.org/docs/reference,
https://scikit-learn.org/stable/api. A table of pandas' counts as an array of two dimensions.
"""

from __future__ import annotations

import re

AT_LEAST: dict[str, int] = {
    name: dimensions
    for dimensions, names in (
        (
            1,
            "arange linspace logspace geomspace hanning hamming blackman bartlett kaiser bincount flatnonzero concatenate append "
            "stack hstack atleast_1d convolve correlate diag diagonal cumsum cumprod repeat tile ravel unique sort argsort flip roll "
            "diff insert delete fromiter frombuffer loadtxt genfromtxt random.permutation random.dirichlet random.multinomial "
            "random.multivariate_normal random.permuted fft.fft fft.ifft fft.rfft fft.fftfreq fft.rfftfreq r_ mgrid",
        ),
        (
            2,
            "eye identity tri outer vstack row_stack column_stack atleast_2d tril triu argwhere vander kron fliplr flipud c_",
        ),
        (2, "histogram nonzero split array_split"),  # several arrays
        (3, "dstack atleast_3d"),
    )
    for name in names.split()
}
"""Functions of NumPy: the least number of dimensions of the result, whatever they are given; one more for several arrays."""

BROADCASTING = frozenset(
    (
        "abs absolute fabs exp exp2 expm1 log log2 log10 log1p sqrt cbrt square sin cos tan arcsin arccos arctan arctan2 sinh cosh "
        "tanh floor ceil rint trunc clip sign maximum minimum fmax fmin power float_power add subtract multiply divide true_divide "
        "floor_divide mod remainder negative reciprocal isnan isinf isfinite logical_and logical_or logical_not deg2rad rad2deg "
        "degrees radians hypot heaviside where"
    ).split()
)
"""Functions of NumPy whose result has as many dimensions as the argument that has most."""

LIKE_FIRST = frozenset(
    (
        "array asarray ascontiguousarray asanyarray copy zeros_like ones_like empty_like full_like flip roll sort argsort fliplr flipud "
        "tile transpose swapaxes pad round around nan_to_num real imag conj angle float32 float64 int64 int32 interp digitize "
        "random.permutation random.permuted"
    ).split()
)
"""Functions of NumPy whose result has at least as many dimensions as their first argument."""

NUMERIC = re.compile(
    r"^(?:numpy\.|builtins\.)?(?:u?int|float|double|single|half|complex|bool)(?:\d+|_|c|p)?$|^[<>=]?[fiu][1248]?$"
)
"""The dtypes of numbers, by name: what has one holds nothing else."""

JOINS = frozenset("concatenate hstack vstack row_stack column_stack dstack".split())
"""Functions of NumPy whose result has at least as many dimensions as each item of the list that they are given."""

ADDS_ONE = frozenset({"stack"})
"""One more than each item of the list: as many as an array of the list would have."""

REDUCTIONS = frozenset(
    "sum mean std var median max min amax amin prod any all argmax argmin nanmean nanstd".split()
)
"""Functions, most of them methods as well: by an axis there is one dimension less, without one a number."""

REDUCES_BY: dict[str, bool] = {
    "linalg.norm": False,
    "percentile": True,
    "quantile": True,
    "nanpercentile": True,
    "nanquantile": True,
}
"""Reductions that are told something else before the axis; whether there is a row for each item of that."""

BY_SHAPE: dict[str, int] = {
    "zeros": 0,
    "ones": 0,
    "empty": 0,
    "full": 0,
    "broadcast_to": 1,
    "reshape": 1,
}
"""Functions of NumPy that are told a shape, and at which position."""

BY_SIZE: dict[str, int] = {
    name: position
    for position, names in (
        (0, "random random_sample ranf sample standard_normal standard_exponential standard_cauchy"),
        (
            1,
            "poisson exponential rayleigh geometric chisquare choice standard_gamma standard_t pareto power weibull",
        ),
        (
            2,
            "uniform normal randint integers lognormal laplace gumbel logistic beta gamma binomial vonmises negative_binomial",
        ),
        (3, "triangular"),
    )
    for name in names.split()
}
"""Samplers of `numpy.random`, of its generators and of `RandomState`: the position of `size`; without it they draw a number."""

BY_COUNT = frozenset({"rand", "randn"})
"""Samplers that are given one number for each dimension."""

GENERATORS = frozenset({"numpy.random.default_rng", "numpy.random.RandomState", "numpy.random.Generator"})
"""What has the samplers as methods."""

SAME_METHODS = frozenset(
    (
        "astype copy clip round conj conjugate transpose swapaxes argsort sort_values fillna dropna reset_index set_index sample drop head "
        "tail rename assign replace query to_numpy sort_index drop_duplicates shift diff toarray todense"
    ).split()
)
"""Methods of arrays and tables that leave as many dimensions."""

FLAT_METHODS = frozenset("ravel flatten repeat cumsum cumprod unique".split())
"""Methods of arrays whose result has one dimension at least."""

SAME_ATTRIBUTES = frozenset("T real imag values iloc loc".split())

TABLES: dict[str, int] = {
    **dict.fromkeys(
        "pandas.read_csv pandas.read_excel pandas.read_parquet pandas.DataFrame pandas.concat pandas.get_dummies".split(),
        2,
    ),
    "pandas.Series": 1,
    "pandas.date_range": 1,
}
"""What pandas reads and builds."""

DATA_SETS = "sklearn.datasets.make_"
"""Functions that give the points (two dimensions) and their labels."""

SPLITS = "sklearn.model_selection.train_test_split"
"""Gives two parts of each array."""

ESTIMATORS = "sklearn."
TRANSFORMS: dict[str, int] = {
    "fit_transform": 1,
    "transform": 1,
    "fit_predict": 1,
    "predict": 1,
    "predict_proba": 2,
}
"""Methods of scikit-learn's estimators that give arrays."""
