"""What PyTorch's modules need and do.

Source: https://docs.pytorch.org/docs/stable/nn.html; for the wrappers, torch/nn/parallel/data_parallel.py (scatter)
and torch/nn/parallel/distributed.py (`_to_kwargs`).
"""

from __future__ import annotations

import re

from torchdev_lint.torch_api.tensor_methods import ACCELERATOR_METHODS

MODULE_NAMESPACES = (
    "torch.nn.",
    "torch.nn.modules.",
)
"""Classes below these are modules."""

SOME_MODULE = "torch.nn.AnyModule"
"""Stands for a class of `torch.nn` of which the name is not known: `getattr(nn, kind)`."""

NOT_MODULES = (
    "torch.nn.functional",
    "torch.nn.init",
    "torch.nn.utils",
    "torch.nn.parameter",
    "torch.nn.parallel",
)
"""Names below `torch.nn` that are no modules."""

PARAMETER_TYPES = frozenset({"torch.nn.Parameter", "torch.nn.parameter.Parameter", "torch.nn.Buffer"})
"""Wrap a tensor so that it is registered when it becomes an attribute of a module."""

LOSSES = frozenset(
    {
        "torch.nn." + name
        for name in (
            "L1Loss MSELoss CrossEntropyLoss CTCLoss NLLLoss NLLLoss2d PoissonNLLLoss GaussianNLLLoss KLDivLoss BCELoss "
            "BCEWithLogitsLoss MarginRankingLoss HingeEmbeddingLoss MultiLabelMarginLoss HuberLoss SmoothL1Loss "
            "SoftMarginLoss MultiLabelSoftMarginLoss CosineEmbeddingLoss MultiMarginLoss TripletMarginLoss "
            "TripletMarginWithDistanceLoss"
        ).split()
    }
)
"""Loss modules: no parameters; buffers only for the tensors given as `weight` or `pos_weight`."""

LOSS_BUFFERS = ("weight", "pos_weight")
"""Keyword arguments of losses that become buffers."""

HOST_TOLERANT_LOSSES = frozenset({"torch.nn.CTCLoss"})
"""Losses that take some of their arguments (lengths) from the CPU."""

AFFINE = (
    {f"torch.nn.BatchNorm{n}d": (("affine", 3, True), ("track_running_stats", 4, True)) for n in (1, 2, 3)}
    | {
        f"torch.nn.InstanceNorm{n}d": (("affine", 3, False), ("track_running_stats", 4, False))
        for n in (1, 2, 3)
    }
    | {
        "torch.nn.LayerNorm": (("elementwise_affine", 2, True),),
        "torch.nn.RMSNorm": (("elementwise_affine", 2, True),),
    }
    | {"torch.nn.GroupNorm": (("affine", 3, True),)}
)
"""Normalisations: the arguments (name, position, default) of which one at least makes parameters or buffers (torch/nn/modules)."""

WITHOUT_PARAMETERS = LOSSES | frozenset(
    {
        "torch.nn." + name
        for name in (
            "ReLU ReLU6 LeakyReLU ELU SELU CELU GELU SiLU Mish Softplus Softmax Softmax2d LogSoftmax Softmin Softsign Sigmoid "
            "LogSigmoid Tanh Tanhshrink Hardtanh Hardsigmoid Hardswish Hardshrink Softshrink Threshold GLU RReLU Identity "
            "Flatten Unflatten Dropout Dropout1d Dropout2d Dropout3d AlphaDropout FeatureAlphaDropout MaxPool1d MaxPool2d MaxPool3d "
            "AvgPool1d AvgPool2d AvgPool3d AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d "
            "AdaptiveMaxPool2d AdaptiveMaxPool3d LPPool1d LPPool2d FractionalMaxPool2d MaxUnpool1d MaxUnpool2d Upsample "
            "UpsamplingNearest2d UpsamplingBilinear2d PixelShuffle PixelUnshuffle ZeroPad1d ZeroPad2d ConstantPad1d "
            "ConstantPad2d ReflectionPad1d ReflectionPad2d ReplicationPad2d CosineSimilarity PairwiseDistance Fold Unfold "
            "ChannelShuffle LocalResponseNorm CrossMapLRN2d CircularPad1d CircularPad2d CircularPad3d ConstantPad3d ReflectionPad3d "
            "ReplicationPad1d ReplicationPad3d ZeroPad3d FractionalMaxPool3d LPPool3d MaxUnpool3d"
        ).split()
    }
)
"""Modules that hold no tensors: they work wherever their input is."""

PARAMETER_CONTAINERS = frozenset({"torch.nn.ParameterList", "torch.nn.ParameterDict"})
"""Modules that make parameters of the tensors put into them (torch/nn/modules/container.py, `__setitem__`)."""

CONTAINERS = PARAMETER_CONTAINERS | {"torch.nn.Sequential", "torch.nn.ModuleList", "torch.nn.ModuleDict"}
"""Modules made of the modules, or the parameters, given to them."""

MADE_OF_COPIES = frozenset({"torch.nn.TransformerEncoder", "torch.nn.TransformerDecoder"})
"""Modules that are copies of a layer (torch/nn/modules/transformer.py, `_get_clones`): they are where that is."""

MOVES_INPUTS = frozenset(
    {
        "torch.nn.DataParallel",
        "torch.nn.parallel.DataParallel",
        "torch.nn.parallel.DistributedDataParallel",
        "torch.nn.parallel.distributed.DistributedDataParallel",
        "torch.distributed.fsdp.FullyShardedDataParallel",
    }
)
"""Wrappers that take their inputs to the right device themselves."""

TRANSPARENT_WRAPPERS = frozenset(
    {
        "torch.compile",
        "torch.jit.script",
        "torch.jit.optimize_for_inference",
        "torch.jit.freeze",
        "copy.copy",
        "weakref.proxy",
    }
)
"""Return the module they are given, or one that lives and moves with it."""

COPIES = frozenset({"copy.deepcopy"})
"""Return an equal thing of its own."""

RUNS_ON_EXAMPLES: dict[str, tuple[tuple[int, str], tuple[int, str]]] = {
    "torch.onnx.export": ((0, "model"), (1, "args")),
    "torch.jit.trace": ((0, "func"), (1, "example_inputs")),
    "torch.export.export": ((0, "mod"), (1, "args")),
    "thop.profile": ((0, "model"), (1, "inputs")),
    "fvcore.nn.FlopCountAnalysis": ((0, "model"), (1, "inputs")),
    "fvcore.nn.flop_count": ((0, "model"), (1, "inputs")),
    "add_graph": ((0, "model"), (1, "input_to_model")),
}
"""Functions (and one method of writers) that call a model with what they are given for it, as it is: where the model and its inputs are
among their arguments (torch/onnx/__init__.py, torch/jit/_trace.py, torch/utils/tensorboard/writer.py; thop/profile.py)."""

RUNS_ON_BATCHES: dict[str, tuple[tuple[int, str], tuple[int, str], tuple[int, str]]] = {
    "torch.optim.swa_utils.update_bn": ((1, "model"), (0, "loader"), (2, "device")),
}
"""Functions that call a model with the first part of each batch, as it is unless they are given a device: where the model, the loader and
the device are among their arguments (torch/optim/swa_utils.py)."""

MODEL_METHODS = frozenset(
    (
        "forward generate predict predict_step encode decode sample infer inference embed extract_features forward_features "
        "get_text_features get_image_features encode_image encode_text log_prob act evaluate_actions get_action get_value "
        "training_step validation_step score reconstruct reparameterize transform"
    ).split()
)
"""Methods of a module of unknown class taken to compute on its parameters with the tensors they are given."""

MAY_INDEX = frozenset("decode encode score test".split())
"""Of those, the ones that often take what they compute on and the indices of the parts wanted."""

WORDS = re.compile(
    r"(?i)(?:^|_)(?:texts?|captions?|sentences?|prompts?|names?|titles?|questions?|answers?|words?|strings?|paths?|urls?)(?:_list|_inputs?)?$"
)
"""Names of what may be a list of strings in a batch of which only the loader is known: strings are put together to lists
(torch/utils/data/_utils/collate.py)."""

MODULE_EVIDENCE = frozenset(
    (
        "eval train parameters named_parameters state_dict load_state_dict zero_grad modules named_modules children "
        "named_children buffers named_buffers apply register_buffer register_module add_module requires_grad_ half "
        "register_forward_hook register_forward_pre_hook register_full_backward_hook"
    ).split()
)
"""Methods that only (or nearly only) modules have."""

MODULE_STAYS = frozenset(
    (
        "eval train requires_grad_ apply zero_grad share_memory compile half float double bfloat16 type cast "
        "gradient_checkpointing_enable tie_weights"
    ).split()
)
"""Module methods that return the module (or nothing) and leave it where it is; `type` does if it is given a dtype."""

CASTS = frozenset("half float double bfloat16".split())
"""Methods of modules and tensors that change the dtype only."""

IN_PLACE_MOVES = frozenset("to cuda cpu to_empty".split()) | ACCELERATOR_METHODS
"""Module methods that move it in place and return it."""

REGISTERING = frozenset({"register_parameter", "register_buffer"})
"""Module methods that give it a tensor of its own."""

LOADERS = frozenset({"torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader"})
"""Iterating gives batches collated on the CPU, whatever `pin_memory` (torch/utils/data/_utils/collate.py)."""

DEVICE_POSITIONS = {
    f"torch.nn.{name}": position
    for position, names in {
        2: "LazyLinear PReLU",
        3: "GRUCell LSTMCell Linear RMSNorm",
        4: "Bilinear GroupNorm LayerNorm RNNCell LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d",
        5: "AdaptiveLogSoftmaxWithLoss BatchNorm1d BatchNorm2d BatchNorm3d InstanceNorm1d InstanceNorm2d InstanceNorm3d",
        6: "SyncBatchNorm",
        8: "LazyConv1d LazyConv2d LazyConv3d",
        9: "Conv1d Conv2d Conv3d Embedding MultiheadAttention TransformerDecoderLayer TransformerEncoderLayer",
        10: "ConvTranspose1d ConvTranspose2d ConvTranspose3d EmbeddingBag",
        13: "Transformer",
    }.items()
    for name in names.split()
}
"""Where layers take `device` among their positional arguments (their signatures, PyTorch 2)."""

KEEPS_DIMENSIONS = frozenset(
    f"torch.nn.{name}"
    for name in (
        "Linear ReLU ReLU6 LeakyReLU ELU SELU CELU GELU SiLU Mish Tanh Sigmoid Softplus Softmax LogSoftmax Hardtanh Hardswish "
        "Hardsigmoid PReLU Dropout Identity LayerNorm RMSNorm BatchNorm1d"
    ).split()
)
"""Layers that give out as many dimensions as they are given (torch/nn/modules/*.py)."""
