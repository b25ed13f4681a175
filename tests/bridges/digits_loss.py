"""Calibration of a network for handwritten digits, by loss: the table of docs/how-to/torch.md.

``python -m tests.bridges.digits_loss [number of seeds]``. 60 % of the rows train, 20 % are for the temperature, 20 %
test; 15 % of all labels are replaced by random ones.
"""

import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch.nn.functional import cross_entropy

import caltest as ct
from caltest.bridges.torch import skce_loss

STEPS, BATCH, NOISE, WEIGHT, WIDTH = 1500, 128, 0.15, 30.0, 0.5
KERNEL = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), WIDTH), ct.DeltaKernel())


def parts(seed):
    """Images and labels of the three parts."""
    rng = np.random.default_rng(seed)
    X, y = load_digits(return_X_y=True)
    y = np.where(rng.random(y.size) < NOISE, rng.integers(0, 10, y.size), y)
    places = np.split(rng.permutation(y.size), [int(0.6 * y.size), int(0.8 * y.size)])
    return [(torch.tensor(X[rows] / 16.0, dtype=torch.float32), torch.tensor(y[rows])) for rows in places]


def network(X, y, seed, weight):
    """Cross entropy and a multiple of the calibration error of the same batches."""
    torch.manual_seed(seed)
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(STEPS):
        rows = torch.randint(len(y), (BATCH,))
        logits = model(X[rows])
        loss = cross_entropy(logits, y[rows]) + weight * skce_loss(logits.softmax(dim=1), y[rows], bandwidth=WIDTH)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return lambda X: model(X).softmax(dim=1).detach()


def measured(p, y):
    """SKCE x 1000, ECE of the top label in percent, log loss, accuracy in percent."""
    p = ct.Categorical(p.double() / p.double().sum(dim=1, keepdim=True))
    loss = -np.mean(np.log(p.probabilities[np.arange(len(y)), y.numpy()]))
    accuracy = (p.probabilities.argmax(axis=1) == y.numpy()).mean()
    return 1000 * ct.SKCE(KERNEL)(p, y), 100 * ct.ECE()(*ct.top_label(p, y)), loss, 100 * accuracy


if __name__ == "__main__":
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    found = {"cross entropy": [], "cross entropy, then temperature scaling": [], "cross entropy + 30 SKCE": []}
    for seed in range(seeds):
        train, validation, (X, y) = parts(seed)
        plain, added = (network(*train, seed, weight) for weight in (0.0, WEIGHT))
        scaled = ct.recalibration.TemperatureScaling().fit(plain(validation[0]), validation[1])
        for name, p in zip(found, (plain(X), torch.tensor(np.asarray(scaled(plain(X)))), added(X)), strict=True):
            found[name].append(measured(p, y))
    print(f"| {seeds} seeds, mean (standard error) | SKCE x 1000 | ECE, % | log loss | accuracy, % |")
    print("|---|---|---|---|---|")
    for name, rows in found.items():
        mean, error = np.mean(rows, axis=0), np.std(rows, axis=0, ddof=1) / np.sqrt(seeds)
        print(f"| {name} | {' | '.join(f'{one:.2f} ({other:.2f})' for one, other in zip(mean, error, strict=True))} |")
    better = np.array(found["cross entropy + 30 SKCE"])[:, 0] < np.array(found["cross entropy"])[:, 0]
    print(f"\nThe SKCE is lower with the added loss than with cross entropy alone for {better.sum()} of {seeds} seeds.")
