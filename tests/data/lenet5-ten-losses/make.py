"""Ten training losses of LeNet-5 by PyTorch, from given weights and batches (float32, one thread).

The network is that of the preset lenet5; weights and inputs are drawn here with a fixed seed and stored beside the
losses, so that another engine starts from the same numbers. Run: python make.py OUTPUT_FOLDER"""
import json
import sys

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
torch.manual_seed(20261130)
model = nn.Sequential()
for name, layer in [("conv1", nn.Conv2d(1, 6, 5)), ("relu1", nn.ReLU()), ("pool1", nn.MaxPool2d(2)), ("conv2", nn.Conv2d(6, 16, 5)),
                    ("relu2", nn.ReLU()), ("pool2", nn.MaxPool2d(2)), ("flatten", nn.Flatten()), ("fc1", nn.Linear(400, 120)),
                    ("relu3", nn.ReLU()), ("fc2", nn.Linear(120, 84)), ("relu4", nn.ReLU()), ("fc3", nn.Linear(84, 10))]:
    model.add_module(name, layer)
# Pixels are whole numbers, so that they can be kept as bytes: blobs that depend on the label, and noise.
labels = torch.randint(10, (10, 16))
pixels = torch.randint(0, 60, (10, 16, 1, 32, 32))
for i in range(10):
    for k in range(16):
        c = int(labels[i, k])
        pixels[i, k, 0, 3 * c:3 * c + 4, 8:24] += 150
pixels = pixels.clamp(max=255)
out = sys.argv[1]
np.savez(out + "/start.npz", pixels=pixels.numpy().astype(np.uint8), labels=labels.numpy().astype(np.int32),
         **{k: v.detach().numpy() for k, v in model.state_dict().items()})
opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
losses = []
for i in range(10):
    x = (pixels[i].float() / 255 - 0.1307) / 0.3081
    opt.zero_grad()
    loss = F.cross_entropy(model(x), labels[i])
    loss.backward()
    opt.step()
    losses.append(loss.item())
json.dump({"tool": "torch " + torch.__version__, "lr": 0.05, "momentum": 0.9, "losses": losses}, open(out + "/losses.json", "w"))
