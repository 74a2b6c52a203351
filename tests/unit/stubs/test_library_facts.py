"""What the shipped stub files tell: one small program for each fact, read by `reveal_device`."""

from __future__ import annotations

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source

HEADER = """\
import torch
from torch import nn
d = torch.device("cuda")
t = torch.rand(4, device=d)
c = torch.zeros(4)
"""


def revealed(code: str) -> list[str]:
    """What each `reveal_device(...)` in the code says."""
    found = check_source(HEADER + code, "program.py", Config())
    return [one.message for one in found if one.code == "TDV000"]


def codes(code: str) -> list[tuple[str, int]]:
    """The codes of the findings and their rows in the code."""
    found = check_source(HEADER + code, "program.py", Config(ignore=("TDV002", "TDV101")))
    return [(one.code, one.range.start.row - HEADER.count("\n")) for one in found]


ON_CPU = [
    "import torchaudio\nx, rate = torchaudio.load('a.wav')",
    "from torchvision.io import read_image\nx = read_image('a.png')",
    "import torchvision.transforms.functional as F\nx = F.to_tensor(picture)",
    "from torchvision import transforms as T\nx = T.ToTensor()(picture)",
    "from torchvision import transforms as T\ntf = T.Compose([T.Resize(4), T.ToTensor(), T.Normalize(0, 1)])\nx = tf(picture)",
    "from torchvision import transforms as T\nx = T.Normalize(0, 1)(c)",
    "from transformers import AutoTokenizer\ntok = AutoTokenizer.from_pretrained('x')\nx = tok('a', return_tensors='pt')",
    "from transformers import AutoTokenizer\ntok = AutoTokenizer.from_pretrained('x')\nx = tok('a', return_tensors='pt').input_ids",
    "from transformers import AutoProcessor\np = AutoProcessor.from_pretrained('x')\nx = p(images=i, return_tensors='pt')['pixel_values']",
    "from einops import rearrange\nx = rearrange(c, 'a -> a 1')",
    "import einops\nx = einops.reduce(c, 'a -> ', 'sum')",
    "from datasets import load_dataset\nds = load_dataset('x')\nds.set_format('torch')\nx = ds[0]['label']",
    "from datasets import load_dataset\nds = load_dataset('x')['train'].with_format(type='torch', columns=['a'])\nx = ds[0]['a']",
    "from torch_geometric.data import Data\ndata = Data(x=c)\nx = data.x",
    "from torch_geometric.datasets import Planetoid\nx = Planetoid('.', 'Cora')[0].x",
    "from torch_geometric.datasets import TUDataset\nfrom torch_geometric.loader import DataLoader\n"
    "for data in DataLoader(TUDataset('.', 'MUTAG')):\n  x = data.edge_index",
    "from torchvision.utils import make_grid\nx = make_grid(c)",
    "import clip\nx = clip.tokenize(['a'])",
    "import open_clip\ntok = open_clip.get_tokenizer('ViT-B-32')\nx = tok(['a'])",
    "import open_clip\nx = open_clip.tokenize(['a'])",
    "import lpips\nx = lpips.im2tensor(picture)",
    "import lpips\nx = lpips.LPIPS(net='vgg')(c, c)",
    "from torchmetrics import Accuracy\nx = Accuracy(task='binary')(c, c)",
    "from torchmetrics.classification import MulticlassAccuracy\nx = MulticlassAccuracy(3)(c, c)",
]


@pytest.mark.parametrize("code", ON_CPU)
def test_on_the_cpu(code: str) -> None:
    (message,) = revealed(code + "\nreveal_device(x)")
    assert "the CPU" in message


ON_CUDA = [
    "from einops import rearrange, repeat\nx = repeat(rearrange(t, 'a -> a 1'), 'a 1 -> a b', b=2)",
    "import einops\nx = einops.einsum(t, t, 'a, a ->')",
    "from torchvision import transforms as T\nx = T.Normalize(0, 1)(t)",
    "import torchvision.transforms.functional as F\nx = F.resize(t, 4)",
    "import torchaudio\nx = torchaudio.functional.resample(t, 1, 2)",
    "from torch_geometric.data import Data\ndata = Data(x=c)\ndata.to(d)\nx = data.x",
    "from torch_geometric.data import Data\ndata = Data(x=t, y=t)\nx = data.y",
    "from torch_geometric.data import Data\nfrom torch_geometric.loader import DataLoader\n"
    "for data in DataLoader([Data(x=c), Data(x=c)]):\n  data = data.to(d)\n  x = data.x",
    "from torch_geometric.nn import global_mean_pool\nx = global_mean_pool(t, t)",
    "from transformers import AutoModelForCausalLM\nm = AutoModelForCausalLM.from_pretrained('x').to(d)\nx = m.generate(t)",
    "from transformers import AutoTokenizer\ntok = AutoTokenizer.from_pretrained('x')\n"
    "e = tok('a', return_tensors='pt')\ne.to(d)\nx = e['ids']",
    "from datasets import load_dataset\nds = load_dataset('x').with_format('torch', device=d)\nx = ds[0]['label']",
    "import tqdm\nfor x in tqdm.tqdm([t, t]):\n  pass",
    "from tqdm.auto import tqdm\nfor x in tqdm([t, t], desc='x'):\n  pass",
    "from rich.progress import track\nfor x in track([t, t]):\n  pass",
    "import torchvision\nx = torchvision.models.resnet18().to(d)(t)",
    "import torchvision\nx = torchvision.ops.box_iou(t, t)",
    "import timm\nx = timm.create_model('x').cuda()(t)",
]


@pytest.mark.parametrize("code", ON_CUDA)
def test_on_the_accelerator(code: str) -> None:
    assert all("cuda" in message for message in revealed(code + "\nreveal_device(x)"))
    assert revealed(code + "\nreveal_device(x)")


FINDINGS = [
    ("from transformers import AutoModel\nm = AutoModel.from_pretrained('x').to(d)\nm(c)", [("TDV001", 3)]),
    ("from transformers import AutoModel\nm = AutoModel.from_pretrained('x')\nm(t)", [("TDV001", 3)]),
    (
        "from transformers import AutoModel, AutoTokenizer\nm = AutoModel.from_pretrained('x')\nm.to(d)\n"
        "tok = AutoTokenizer.from_pretrained('x')\nm(**tok('a', return_tensors='pt'))",
        [("TDV001", 5)],
    ),
    ("import timm\nm = timm.create_model('x').to(d)\nm(c)", [("TDV001", 3)]),
    ("import torchvision\nm = torchvision.models.resnet18()\nm.to(d)\nm(c)", [("TDV001", 4)]),
    ("import torchaudio\nmel = torchaudio.transforms.MelSpectrogram()\nmel(t)", [("TDV001", 3)]),
    (
        "import torchaudio\nb = torchaudio.pipelines.HUBERT_BASE.get_model().to(d)\nw, r = torchaudio.load('a')\nb(w)",
        [("TDV001", 4)],
    ),
    (
        "from torchvision import models, transforms as T\nm = models.resnet18().to(d)\ntf = T.Compose([T.ToTensor()])\n"
        "m(tf(picture).unsqueeze(0))",
        [("TDV001", 4)],
    ),
    (
        "from torch_geometric.data import Data\nfrom torch_geometric.nn import GCNConv\nm = GCNConv(1, 2).to(d)\n"
        "data = Data(x=c, edge_index=c)\nm(data.x, data.edge_index)",
        [("TDV001", 5), ("TDV001", 5)],
    ),
    ("import dgl\ng = dgl.graph(edges)\ng.to(d)\nprint(g)", [("TDV003", 3)]),
    (
        "import dgl\nfrom dgl.nn import GraphConv\nm = GraphConv(1, 2).to(d)\ng = dgl.graph(edges)\nm(g, t)",
        [("TDV001", 5)],
    ),
    (
        "from accelerate import Accelerator\na = Accelerator()\nm = a.prepare(nn.Linear(2, 2))\nm(c)",
        [("TDV001", 4)],
    ),
    (
        "import numpy as np\nfrom accelerate import Accelerator\na = Accelerator()\nnp.array(c.to(a.device))",
        [("TDV010", 4)],
    ),
    ("import numpy as np\nimport timm\nm = timm.create_model('x').to(d)\nnp.argmax(m(t))", [("TDV010", 4)]),
    (
        "import lightning as L\nclass M(L.LightningModule):\n  def training_step(self, batch, i):\n    x, y = batch\n"
        "    return x.numpy()",
        [("TDV010", 5)],
    ),
    (
        "from transformers import AutoModelForCausalLM\nm = AutoModelForCausalLM.from_pretrained('x').to(d)\n"
        "m.generate(t).numpy()",
        [("TDV010", 3)],
    ),
]


@pytest.mark.parametrize(("code", "expected"), FINDINGS)
def test_findings(code: str, expected: list[tuple[str, int]]) -> None:
    assert codes(code) == expected


SILENT = [
    "from torch_geometric.nn import GCNConv\nfrom torch_geometric.data import Data\nfrom torch_geometric.loader import NeighborLoader\n"
    "m = GCNConv(1, 2).to(d)\ndata = Data(x=c, y=c).to(d, 'x', 'y')\nfor b in NeighborLoader(data, [3]):\n  m(b.x, t)\nm(data.x, t)",
    "from torch_geometric.loader import DataLoader\nfor b in DataLoader(made_elsewhere()):\n  b.x + t",
    "from torch_geometric.nn import Node2Vec\nm = Node2Vec(t).to(d)\nm.sample(c)",
    "from dgl.nn import KNNGraph\nKNNGraph(3)(t)\nKNNGraph(3).to(d)(c)",
    "import torchaudio\ntorchaudio.transforms.TimeMasking(3)(t)",
    "import torchvision\ntorchvision.ops.RoIAlign(3, 1.0, 2)(t, t)",
    "from torchvision import models\nimport numpy as np\nm = models.detection.fasterrcnn_resnet50_fpn().to(d)\n"
    "for box in m(t):\n  np.array(box[0])",
    "from torch_geometric.datasets import Planetoid\nimport torch_geometric.transforms as T\n"
    "data = Planetoid('.', 'Cora', transform=T.ToDevice(d))[0]\ndata.x + t",
    "from transformers import AutoModel\nm = AutoModel.from_pretrained('x', device_map='auto')\nm(c)",
    "from transformers import AutoModel\nm = AutoModel.from_pretrained('x', load_in_8bit=True)\nm(t)",
    "from transformers import AutoModel\nm = AutoModel.from_pretrained('x', **options)\nm(t)",
    "from transformers import pipeline\np = pipeline('x', device=d)\np(c)",
    "from transformers import DataCollatorForLanguageModeling as C\nc2 = C(tok)\nc2(t)",
    "from diffusers import DiffusionPipeline\np = DiffusionPipeline.from_pretrained('x').to(d)\np(latents=c)",
    "from sentence_transformers import SentenceTransformer\nimport numpy as np\n"
    "s = SentenceTransformer('x').to(d)\nnp.array(s.encode('a'))",
    "from ultralytics import YOLO\ny = YOLO('x').to(d)\ny(c)",
    "from accelerate import Accelerator\nfrom torch.utils.data import DataLoader\na = Accelerator()\n"
    "m, loader = a.prepare(nn.Linear(2, 2), DataLoader(ds))\nfor x in loader:\n  m(x)",
    "from accelerate import Accelerator\na = Accelerator(cpu=True)\nm = a.prepare(nn.Linear(2, 2))\nm(c)",
    "from einops.layers.torch import Rearrange\nRearrange('a b -> b a')(t)\nRearrange('a b -> b a')(c)",
    "import torchaudio\nmel = torchaudio.transforms.MelSpectrogram().to(d)\nmel(t)",
    "from torch_geometric.data import Data\ndata = Data(x=c)\ndata.to(d)\ndata.x + t",
    "import dgl\ng = dgl.graph(edges)\ng = g.to(d)\nnn.Linear(1, 1).to(d)(t)\nprint(g)",
    "import dgl\ng = dgl.graph(edges, device=d)\nprint(g)",
    "import gymnasium as gym\nimport numpy as np\nenv = gym.make('x')\nobs, info = env.reset()\nnp.array(obs)",
    "import lightning.pytorch as pl\nclass M(pl.LightningModule):\n  def __init__(self):\n    super().__init__()\n"
    "    self.net = nn.Linear(2, 2)\n  def training_step(self, batch, i):\n    x, y = batch\n    return self.net(x) - y",
    "import pytorch_lightning as pl\nclass M(pl.LightningModule):\n  def forward(self, x):\n"
    "    return x + torch.zeros(3, device=self.device)\nm = M()\npl.Trainer().fit(m)\nm(t)",
    "from torchvision.models import ResNet18_Weights\nw = ResNet18_Weights.DEFAULT\nw.transforms()(t)",
    "import cv2\nimport numpy as np\nnp.array(cv2.imread('a.png'))",
    "from PIL import Image\nimport numpy as np\nnp.asarray(Image.open('a.png'))",
    "from torchvision import transforms as T\nc + T.Compose([T.Resize(4), lambda y: y.cpu()])(t)",
    "from torchvision import transforms as T\nc + T.Compose([T.Lambda(lambda y: y.cpu())])(t)",
]


@pytest.mark.parametrize("code", SILENT)
def test_silent(code: str) -> None:
    assert codes(code) == []
