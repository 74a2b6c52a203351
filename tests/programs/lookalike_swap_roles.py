"""Teacher and student change places; `x` and `model` are bound again and again."""
import torch
from torch import nn

torch.manual_seed(0)
gpu = torch.device("cuda" if torch.cuda.is_available() else "cpu")
cpu = torch.device("cpu")

model = nn.Linear(3, 3)
x = torch.randn(4, 3)
print("cpu", model(x).sum().item())

model, x = model.to(gpu), x.to(gpu)
print("gpu", model(x).sum().item())

model, x = model.to(cpu), x.to(cpu)
print("cpu", model(x).sum().item())

student, teacher = nn.Linear(3, 3).to(gpu), model
for round_ in range(2):
    home_s = next(student.parameters()).device
    home_t = next(teacher.parameters()).device
    with torch.no_grad():
        goal = teacher(x.to(home_t)).to(home_s)
    loss = (student(x.to(home_s)) - goal).abs().mean()
    loss.backward()
    print(round_, loss.item())
    student, teacher = teacher, student

y = x
x = x.to(gpu)
model = student if next(student.parameters()).device == x.device else teacher
if next(model.parameters()).device != x.device:
    model = model.to(x.device)
print(model(x).shape, y.device)
del model
model = nn.Linear(3, 1)
print(model(y).shape)
