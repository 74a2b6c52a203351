import io
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(4, 3).to(device)
feats = model(torch.randn(6, 4, device=device)).detach()
file = io.BytesIO()
torch.save({"x": feats, "y": torch.arange(6) % 3, "step": 4}, file)
file.seek(0)
held = torch.load(file, map_location="cpu")
print((held["x"] @ torch.eye(3))[held["y"] == 1])
file.seek(0)
held = torch.load(file, map_location=device)
print((held["x"] * model.weight.mean(1) + held["step"]).shape, nn.functional.cross_entropy(held["x"], held["y"]))
