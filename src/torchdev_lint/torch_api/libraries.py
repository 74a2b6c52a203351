"""Facts about libraries built on PyTorch, and about Python's own functions, that device inference needs."""

from __future__ import annotations

import re
import sys

RETURN_TENSORS = "return_tensors"
"""Hugging Face tokenizers and processors called with `return_tensors="pt"` give CPU tensors
(https://huggingface.co/docs/transformers/main_classes/tokenizer)."""

RETURNS_ONE_TENSOR = frozenset({"encode", "apply_chat_template", "pad_sequence"})
"""Of those, the methods that return one tensor; the others return a mapping whose `.to()` works in place."""


_CALLING = frozenset(
    "asyncio builtins concurrent contextlib functools itertools multiprocessing threading weakref".split()
)
"""Parts of Python that call functions with what they are given."""


def moves_nothing(path: str) -> bool:
    """Whether Python's or PyTorch's own `path` leaves whatever it is given where it is, however it calls what can be called.

    `SummaryWriter.add_graph(model, example)` traces the model where it is (torch/utils/tensorboard/_pytorch_graph.py).
    """
    root = path.partition(".")[0]
    python = root in sys.stdlib_module_names and root not in _CALLING
    return python or path.startswith("torch.utils.tensorboard.")


SKIPS_TEST = "skipTest"
"""`unittest.TestCase.skipTest` does not return."""

LEAVES_PROGRAM = frozenset(
    {
        "pytest.skip",
        "pytest.fail",
        "pytest.exit",
        "sys.exit",
        "os._exit",
        "builtins.exit",
        "builtins.quit",
        "os.abort",
        "exit",
        "quit",
    }
)
"""Calls that do not return."""

DISPATCHED = "(dispatched)"
"""In place of the decorators of a function that was chosen by the type of its first argument: its parameters are those of others."""

SIGNATURE_KEEPING_DECORATORS = frozenset({DISPATCHED}) | frozenset(
    (
        "no_grad enable_grad inference_mode staticmethod classmethod property cached_property lru_cache cache wraps "
        "abstractmethod override final overload compile script jit autocast custom_fwd custom_bwd typechecked jaxtyped beartype "
        "contextmanager asynccontextmanager torch_compile export ignore unused disable timeit timer"
    ).split()
)
"""Decorators, by their last name, under which a function is called with the arguments that its definition names."""

CONTEXTS_THAT_EXPECT_FAILURE = ("pytest.raises", "assertRaises", "assertRaisesRegex", "contextlib.suppress")
"""Context managers whose body is meant to raise."""

PLACED_BY_LIBRARY = frozenset({"device_map"})
"""Keyword arguments by which a library places a model itself and brings its inputs there (accelerate's hooks)."""

NOT_DEVICE_USES = frozenset(
    "startswith endswith find index count replace split rsplit partition rpartition match fullmatch search compile "
    "setdefault debug info warning warn error exception critical log print fail skip".split()
)
"""Functions and methods for which a device string is mere text."""

ASKS_ACCELERATOR = frozenset(
    "memory_allocated max_memory_allocated memory_reserved max_memory_reserved memory_stats memory_summary mem_get_info "
    "reset_peak_memory_stats reset_max_memory_allocated get_device_properties get_device_name get_device_capability "
    "synchronize utilization".split()
)
"""Functions of `torch.cuda` and its like that tell something of a device: the device they are given is text, no other would do."""

ACCELERATOR_ONLY = re.compile(
    r"(?:triton|flash_attn|cutlass|cupy\w*|cuda|pycuda|numba\.cuda|tensorrt|tensorrt_llm|torch_tensorrt|torch2trt|exllama(?:v\d)?|mamba_ssm|apex\.(?:contrib|optimizers)|"
    r"causal_conv1d|transformer_engine\w*|\w+_cuda)(?:\.|\Z)"
)
"""Libraries of compiled kernels, by the dotted name of a module: a program that imports one runs on an accelerator or not at all."""

ON_HOST = re.compile(r"(?:optimum\.(?:neuron|intel)|transformers_neuronx|tensorrt_llm|exllamav\d)(?:\.|\Z)")
"""Libraries whose models are handed tensors of the CPU, by the dotted name of a module, wherever they run
(optimum/neuron/modeling_decoder.py; tensorrt_llm/runtime/model_runner.py, `generate`; exllamav3/model/model.py, `forward`)."""

SET_DEFAULT_DEVICE = frozenset({"pyro"})
"""Libraries whose programs set the default device (`torch.set_default_device`, `torch.set_default_tensor_type`) to run on an
accelerator: Pyro's examples and tests all do (https://github.com/pyro-ppl/pyro/blob/dev/examples/hmm.py)."""

OPTIONS = frozenset({"absl.flags.FLAGS"})
"""What holds the options of a command line, each an attribute (https://abseil.io/docs/python/guides/flags)."""
