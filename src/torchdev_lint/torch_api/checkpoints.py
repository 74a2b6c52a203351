"""Functions that load what was saved, and what names say about it.

Source: torch/serialization.py (`load`), torch/hub.py (`load_state_dict_from_url`): without `map_location` every storage goes
back to the device that it was saved from.
"""

from __future__ import annotations

import re

LOADERS = {
    "torch.load": 1,
    "torch.serialization.load": 1,
    "torch.hub.load_state_dict_from_url": 2,
    "torch.utils.model_zoo.load_url": 2,
    "torchvision._internally_replaced_utils.load_state_dict_from_url": 2,
    "torchvision.models.utils.load_state_dict_from_url": 2,
}
"""Functions that restore tensors to where they were saved, with the position of their `map_location`."""

ALWAYS_WEIGHTS = frozenset(LOADERS) - {"torch.load", "torch.serialization.load"}
"""Of those, the ones that load nothing but the weights of a model."""

MAPPED_LOADERS = {
    "torch.jit.load": 1,
    "mmcv.runner._load_checkpoint": 1,
    "mmcv.runner.checkpoint._load_checkpoint": 1,
    "mmcv.runner.load_checkpoint": 2,
    "mmcv.runner.checkpoint.load_checkpoint": 2,
    "mmengine.runner._load_checkpoint": 1,
    "mmengine.runner.checkpoint._load_checkpoint": 1,
    "mmengine.runner.load_checkpoint": 2,
    "mmengine.runner.checkpoint.load_checkpoint": 2,
    "trainer.io.load_fsspec": 1,
}
"""Functions that load models, and hand their `map_location`, at this position and None by default, to `torch.load` or do as it does.

Source: torch/jit/_serialization.py; mmengine/runner/checkpoint.py and, before it, mmcv/runner/checkpoint.py; trainer/io.py (coqui).
"""

WEIGHTS_URL = re.compile(r"https?://\S+\.(?:pth?|bin|ckpt|tar|zip|model)(?:\W|\Z)")
"""Addresses of files of weights."""

WEIGHTS_FILE = re.compile(r"\.(?:pth?|bin|ckpt|tar|zip|model)$")
"""The end of the name of a file of weights."""

FETCHES = re.compile(
    r"(?i)cached_path|urlretrieve|hf_hub|gdown|from_hub|from_url|download_url|snapshot_download|wget"
)
"""Functions that bring a file from the web, or say where it was put."""

ADDRESS = re.compile(r"(?i)https?:|url|repo")
"""What is given to a function that downloads from the web."""

PUBLISHED_NAME = re.compile(r"-[0-9a-f]{8,}\.\w+$")
"""The convention for published weights: the beginning of the file's SHA256 in its name (torch/hub.py, `load_state_dict_from_url`)."""

TO_BE_DOWNLOADED = re.compile(r"(?is)(?:download|wget|curl).{0,80}?https?://")
"""What documentation says of weights that are on the web."""

OF_OTHERS = re.compile(r"(?i)pre_?train|model_?zoo|(?<![a-z])pre\.pth?$|hugging_?face|(?:^|_)hf(?:_|$)")
"""Names of files of weights that were trained elsewhere, by others as a rule, or put on a hub."""

NAME_OR_PATH = re.compile(r"name_or_path$")
"""What Hugging Face's programs call what is the name of a published model, or where the user keeps one."""

ASKS_FORMAT = re.compile(r"['\"][\w.]*\.safetensors['\"]")
"""A test of a file's name by which it is read in one format or another."""

RANK = re.compile(r"(?i)(?:^|_)rank(?:_|$)")
"""Names of files of which every process has its own: the process that loads one has saved it, where it runs."""

SHARDED = re.compile(
    r"(?m)^\s*(?:from|import) torch\.distributed\.(?:_?fsdp|checkpoint)\b|^\s*from fairscale\b.*\bFullyShardedDataParallel\b"
)
"""What only the code of sharded training imports."""

CHECKPOINT_NAME = re.compile(
    r"(?i)(?:checkpoint|ckpt|chkpt|check_point|state_?dict|weights?(?:$|[^a-z])|snapshot|pretrain|resume|\.pth|model|"
    r"(?<![a-z])net(?:$|[^a-z])|(?<![a-z])net[gd](?:$|[^a-z])|network|discriminator|encoder|decoder|backbone|policy|actor|critic|"
    r"agent|optimizer|adapter|lora|finetune)"
)
"""Names of files, variables and functions that speak of the weights of a model."""

DATA_NAME = re.compile(
    r"(?i)(?:data|feat|cache|vocab|embed|(?<![a-z])emb(?:$|[^a-z])|samples?|examples?|corpus|token|label|image|img|latent|noise|processed|split|"
    r"index|indices|batch|prompt|tensor|preds|predictions|graph|result|metric|stats|logits|output|config|args|buffer|mask|replay|dictionary|"
    r"fields?(?:$|[^a-z])|spec(?:$|[^a-z])|voice|mel(?:$|[^a-z])|audio|wav|text|train\.pt|test\.pt|val\.pt)"
)
"""Names that speak of data sets and the like, which programs prepare on the CPU."""

WEIGHT_KEYS = re.compile(
    r"(?i)(?:^|_)(?:state_?dict|state|model|weights?|optimizer|optim|net|network|scheduler|ema|epoch|generator|discriminator|"
    r"encoder|decoder|policy|actor|critic|module|best_acc\d?|hparams|hyper_parameters)(?:$|_)"
)
"""Keys under which checkpoints keep what they hold."""

TAKES_WEIGHTS = re.compile(
    r"(?i)(?:(?:load|set|restore)_(?!rng|random)(?:(?!rng|random)[a-z]+_)?state|load_[a-z]+_dict|state_dict|"
    r"load_weights|load_params|from_checkpoint|load_pretrained)"
)
"""Functions that are given the weights of a model."""

SCHEDULER = re.compile(r"(?i)(?:^|[._])(?:lr_)?sched(?:uler)?s?$")
"""Names of schedulers of the learning rate, whose state holds numbers."""

SAVES = re.compile(r"(?i)(?:^|_)(?:save|train|fit|write|export|dump|store)")
"""Functions that may write the file whose name they are given."""

SAVING_WORDS = (
    "torch.save(",
    ".save(",
    "save_checkpoint",
    "save_model",
    "save_pretrained",
    "save_state",
    "save_file(",
    "Trainer(",
    ".fit(",
)
"""What stands in programs that save weights, or have a library save them."""

FILE_ADDRESS = re.compile(r"https?://[^\s'\"]+\.(?:pth?|pyth|bin|ckpt|tar|zip|model|th)(?![a-z0-9])")
"""The address of a file of weights anywhere in a text."""

BROUGHT_TOGETHER = re.compile(r"\{[^{}]*\.cpu\(\)[^{}]*\sfor\s[^{}]*\}")
"""A dict whose values are all brought to the CPU: `{name: value.cpu() for name, value in state.items()}`."""

NO_WEIGHTS = re.compile(r"(?i)sched|sampler|(?:^|_)rng|random_state")
"""Names of what has a state without tensors of a model: what it saves loads anywhere."""

SAVED = re.compile(r"\b(?:torch|th)\.save\(\s*((?:[^(),]|\([^()]*\))+)")
"""Finds what a program saves, in its text."""

ON_HOST = re.compile(r"\.cpu\(\)$|\.to\(['\"]cpu['\"]\)(?:\.state_dict\(\))?$|\.cpu\(\)\.state_dict\(\)$")
"""What ends so was brought to the CPU."""
