"""What the text of an error says about devices: which, of what, in which operation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from torchdev_lint.explain.tracebacks import PastedError
from torchdev_lint.torch_api.error_messages import CALLED_FLAG, MESSAGES, NOT_CALLABLE, STRANGERS

_DEVICE = re.compile(
    r"(?<![\w.'/])(?P<name>cpu|cuda|mps|xpu|hpu|npu|xla|meta|privateuseone|vulkan)(?P<index>:\d+)?(?![\w/]|\.\w)",
    re.IGNORECASE,
)
_GOT = re.compile(
    r"but got (?P<role_a>[\w ]+?) is on (?P<device_a>[\w:]+), different from (?P<role_b>other tensors) on (?P<device_b>[\w:]+)"
)
"""c10: the newer form of "Expected all tensors to be on the same device"."""
_CHECKING = re.compile(
    r"\(when checking argument(?: for argument (?P<argument>\w+))? in method (?P<method>\w+)\)"
)
_TYPE = re.compile(r"torch\.(?:(?P<backend>[a-z]+)\.)?\w*Tensor")
_NUMBERED = re.compile(r"(?P<name>\w+) device(?: (?P<index>\d+))?")
_SENTENCE_END = re.compile(r"[.!](?:\s|$)")
_WRAPPER = re.compile(r"^(?:wrapper_)?(?:[A-Z][A-Za-z]*_)?_*")


@dataclass(frozen=True, slots=True)
class Complaint:
    """What a message says. `devices` are pairs of what is on a device ("" where it does not say) and the device."""

    kind: str
    devices: tuple[tuple[str, str], ...] = ()
    operation: str = ""
    """The ATen operation that complained, where the message names it: `index_select`, `addmm`."""
    argument: str = ""
    """Its parameter that was looked at."""


def complaint_of(message: str) -> Complaint | None:
    """What the text of an error says about devices; None when it is not about devices. Line breaks do not matter."""
    text = " ".join(message.split())
    for pattern, kind, _ in MESSAGES:
        match = re.search(pattern, text)
        if match is None:
            continue
        roles = match.groupdict()
        devices = tuple(_named(roles))
        if "Input type" in match.group() and (len(devices) < 2 or devices[0][1] == devices[1][1]):
            return None  # Types of one device that differ in their element: float against half.
        got = _GOT.search(text)
        if got is not None:
            devices = tuple(_named(got.groupdict()))
        if len(devices) < 2 and kind not in ("load", "absent", "ordinal", "misuse"):
            known = {device for _, device in devices}
            devices += tuple(("", device) for device in _mentioned(text, match) if device not in known)
        checking = _CHECKING.search(text)
        operation = _WRAPPER.sub("", checking["method"]) if checking else ""
        return Complaint(kind, devices, operation, (checking["argument"] or "") if checking else "")
    return None


def complaint_about(error: PastedError) -> Complaint | None:
    """What an error says about devices, by its message, or by the line that raised it."""
    if error.message.strip() == NOT_CALLABLE and error.frames and CALLED_FLAG.search(error.frames[-1].code):
        return Complaint("misuse")
    return complaint_of(error.message)


def stranger(message: str) -> str | None:
    """What to say of an error that is mistaken for one about devices; None when nothing is known of it."""
    text = " ".join(message.split())
    return next((advice for pattern, advice in STRANGERS if re.search(pattern, text)), None)


def _named(roles: Mapping[str, str | None]) -> Iterator[tuple[str, str]]:
    for letter in "ab":
        given = roles.get(f"device_{letter}")
        device = _device(given) if given else None
        if device is not None:
            yield (roles.get(f"role_{letter}") or "").lower(), device


def _device(given: str) -> str | None:
    """The device that a device, a legacy tensor type or "CUDA device 1" stands for; None for a word that is none."""
    tensor_type = _TYPE.fullmatch(given)
    if tensor_type is not None:
        backend = tensor_type["backend"]
        return "cpu" if backend in (None, "sparse") else backend
    numbered = _NUMBERED.fullmatch(given)
    if numbered is not None:
        return numbered["name"].lower() + (f":{numbered['index']}" if numbered["index"] else "")
    if given.upper() == "GPU":
        return "cuda"
    plain = _DEVICE.fullmatch(given.rstrip("!,.'"))
    return plain.group().lower() if plain is not None else None


def _mentioned(text: str, match: re.Match[str]) -> list[str]:
    """The devices that the sentence of a match names, each once."""
    start = text.rfind(". ", 0, match.start()) + 1
    end = _SENTENCE_END.search(text, match.end())
    sentence = text[start : end.start() if end is not None else len(text)].split("(when checking")[0]
    return list(dict.fromkeys(found.group().lower() for found in _DEVICE.finditer(sentence)))
