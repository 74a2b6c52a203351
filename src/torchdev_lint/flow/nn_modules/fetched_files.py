"""Files of weights that others publish: a class, or another file of the project, fetches them from a hub, or they are read in any format.

    class Detector:
        repository, file = "someone/weights", "detector.pth"

        def address(self):
            return huggingface_hub.hf_hub_url(self.repository, self.file)

        def load(self, path):
            return torch.load(path)

What saves under such a name, or in such a class, has files of its own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import libcst as cst

from torchdev_lint.flow.activation.analysis import Analysis
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.nn_modules import loading_scopes
from torchdev_lint.flow.nn_modules.savers import says_saving
from torchdev_lint.flow.project.reach import said
from torchdev_lint.flow.syntax.trees import walk
from torchdev_lint.torch_api.checkpoints import ASKS_FORMAT

_FROM_HUB = re.compile(
    r"\b(?:hf_hub_(?:url|download)|cached_path|cached_download|load_state_dict_from_url)\("
)
_FILE = re.compile(r"\w[\w.-]{3,}\.\w+$")


def are_fetched(frame: Frame, path: cst.BaseExpression, words: Sequence[str]) -> bool:
    """Whether the class around a load fetches its weights and hands them over, or another file fetches what has this name.

    `words`: the names and strings of the path.
    """
    owner = None if frame.function is None else frame.function.owner
    if owner is not None and owner.node is not None and isinstance(path, cst.Name):
        text = said(frame.analysis.text(owner.node))
        if _FROM_HUB.search(text) is not None and not says_saving(frame.analysis.written):
            return True
    return any(
        frame.analysis.learn(_is_fetched_elsewhere, frame.analysis, word)
        for word in words
        if _FILE.search(word) is not None
    )


def are_of_either_format(frame: Frame, path: cst.BaseExpression) -> bool:
    """Whether the load is what is done with files that are not called `.safetensors`: whoever has one took what others publish."""
    scope = loading_scopes.scope_of(frame)
    around = loading_scopes.calls_around(frame, scope, path)
    return any(
        isinstance(node, cst.If)
        and id(node.orelse) in around
        and ASKS_FORMAT.search(frame.analysis.text(node.test)) is not None
        for node in walk(scope)
    )


def _is_fetched_elsewhere(analysis: Analysis, name: str) -> bool:
    texts = [said(text) for _, text in analysis.imports.mentioning(name) or ()]
    return any(_FROM_HUB.search(text) for text in texts) and not any(
        map(says_saving, (analysis.written, *texts))
    )
