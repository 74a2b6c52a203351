"""Facts about libraries built on PyTorch, and about Python's own functions, that device inference needs."""

from __future__ import annotations

RETURN_TENSORS = "return_tensors"
"""Hugging Face tokenizers and processors called with `return_tensors="pt"` give CPU tensors
(https://huggingface.co/docs/transformers/main_classes/tokenizer)."""

RETURNS_ONE_TENSOR = frozenset({"encode", "apply_chat_template", "pad_sequence"})
"""Of those, the methods that return one tensor; the others return a mapping whose `.to()` works in place."""

SKIPS_TEST = "skipTest"
"""`unittest.TestCase.skipTest` does not return."""

LEAVES_PROGRAM = frozenset(
    {"sys.exit", "os._exit", "builtins.exit", "builtins.quit", "os.abort", "exit", "quit"}
)
"""Calls that do not return."""

SIGNATURE_KEEPING_DECORATORS = frozenset(
    (
        "no_grad enable_grad inference_mode staticmethod classmethod property cached_property lru_cache cache wraps "
        "abstractmethod override final overload compile script jit autocast custom_fwd custom_bwd typechecked jaxtyped beartype "
        "contextmanager torch_compile export ignore unused disable timeit timer"
    ).split()
)
"""Decorators, by their last name, under which a function is called with the arguments that its definition names."""

CONTEXTS_THAT_EXPECT_FAILURE = ("pytest.raises", "assertRaises", "assertRaisesRegex", "contextlib.suppress")
"""Context managers whose body is meant to raise."""

MODULE_BASES = (
    "torch.nn.",
    "pytorch_lightning.LightningModule",
    "lightning.LightningModule",
    "lightning.pytorch.LightningModule",
    "transformers.PreTrainedModel",
    "transformers.modeling_utils.PreTrainedModel",
    "torchvision.models.",
    "torch.jit.ScriptModule",
)
"""Base classes, by path or prefix, that make a class an nn.Module."""

MOVES_INPUTS_NAMESPACES = ("diffusers.", "sentence_transformers.", "ultralytics.", "transformers.pipeline")
"""Libraries whose objects take what they are called with to their own device."""

MOVES_INPUTS_METHODS = {"transformers.": frozenset({"generate"})}
"""Methods that do, by the namespace of what they are called on (transformers 5: generate() accepts CPU input ids)."""

PLACED_BY_LIBRARY = frozenset({"device_map"})
"""Keyword arguments by which a library places a model itself and brings its inputs there (accelerate's hooks)."""

NOT_DEVICE_USES = frozenset(
    "startswith endswith find index count replace split rsplit partition rpartition match fullmatch search compile "
    "setdefault debug info warning warn error exception critical log print fail skip".split()
)
"""Functions and methods for which a device string is mere text."""
