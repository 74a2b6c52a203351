"""What things are called in the field, where nothing but their names says what they are."""

from __future__ import annotations

import re

_MODEL = re.compile(
    r"(?i)(?:^|_)(?:model|net|network|module|encoder|decoder|backbone|critic|actor|policy|generator|discriminator|classifier|unet|vae|"
    r"transformer)\d*_?\Z"
)
_LAYER = re.compile(
    r"(?i)(?:^|_)(?:layers?|head|conv|linear|lstm|rnn|gru|embedd?\w*|mlp|fc|blocks?|body|proj\w*|stem|trunk)\d*\Z"
)
_LOSS = re.compile(r"(?i)(?:^|_)(?:loss|criterion|crit)(?:_?f(?:n|unc\w*))?\d*_?\Z")
_METRIC = re.compile(r"(?i)(?:^|_)metric\d*_?\Z")
_LOADER = re.compile(r"(?i)(?:^|_)(?:data_?loader|loader|dl)\d*\Z|^(?:train|val|valid|test)_?iter\Z")

OWN_DEVICE = re.compile(r"\bself *\. *(?:\w+ *\. *)*\w*device\b(?! *\()")
"""In the text of a class: a device that an instance, or what it holds, has."""


def _last(path: str) -> str:
    return path.rpartition(".")[2]


def is_model_name(path: str) -> bool:
    """Whether a thing is called like a model: `self.target_net`, `unet2`."""
    return _MODEL.search(_last(path)) is not None


def is_module_name(path: str) -> bool:
    """Whether a thing is called like a model or like a layer: `fc1`, `self.proj_out`, `backbone`."""
    return is_model_name(path) or _LAYER.search(_last(path)) is not None


def is_loss_name(path: str) -> bool:
    """Whether a thing is called like a loss: `criterion`, `self.loss_fn`."""
    return _LOSS.search(_last(path)) is not None


def is_metric_name(path: str) -> bool:
    """Whether a thing is called like a metric: `self.metric`."""
    return _METRIC.search(_last(path)) is not None


def is_loader_name(path: str) -> bool:
    """Whether a thing is called like a loader of batches: `train_loader`, `val_dl`."""
    return _LOADER.search(_last(path)) is not None
