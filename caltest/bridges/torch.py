"""A differentiable calibration error for training with PyTorch: ``from caltest.bridges.torch import skce_loss``.

The module imports torch. Tensors on any device are taken as predictions and targets by all of ``ct`` without it; they
are moved to the processor once, and numbers in single precision stay so.
"""

from typing import Any

try:
    import torch
except ImportError as error:
    raise ImportError("caltest.bridges.torch needs PyTorch: pip install caltest[torch]") from error

from caltest._validation import positive_number


def skce_loss(probabilities: Any, targets: Any, *, bandwidth: float) -> Any:
    """The unbiased squared kernel calibration error of classes, as a loss that can be differentiated.

    ``sum_{i != j} exp(-TV(p_i, p_j) / bandwidth) <e_{y_i} - p_i, e_{y_j} - p_j> / (n (n - 1))`` for unit vectors e and
    the total variation distance TV: the value of ``ct.SKCE`` with the kernel ``ct.ProductKernel(ct.ExponentialKernel(
    ct.TotalVariation(), bandwidth), ct.DeltaKernel())``. Its mean over random batches is that of all data, so it suits
    stochastic gradients; single values can be negative.

    Parameters
    ----------
    probabilities
        Tensor (n, k), such as ``logits.softmax(dim=1)``, or (n,) of class 1, with a gradient.
    targets
        Tensor (n,) of labels 0..k-1 on the same device.
    bandwidth
        Of the kernel, in units of TV, which is at most 1. A median of the predictions would move with them.

    Returns
    -------
    torch.Tensor
        A number, to be added to a proper loss: ``cross_entropy(logits, y) + weight * skce_loss(...)``. Alone it does
        not make predictions informative: class frequencies have error 0.

    Raises
    ------
    ValueError
        For shapes that do not fit, fewer than 2 observations, or on the processor for values that are no probabilities
        and labels outside of 0..k-1.

    Notes
    -----
    The gradient is that of ``torch.autograd``; where coordinates of two predictions are equal, TV has a corner, and 0
    is taken. Values on other devices are not checked, as that would wait for these. Numbers of 16 bits become those
    of single precision. Time and memory O(n**2 k).

    Source: Widmann, Lindsten and Zachariah 2019, lemma 2. The idea of a kernel calibration error as a loss is that of
    Kumar, Sarawagi and Jain 2018, whose MMCE is of the confidence of the top label.

    Examples
    --------
    >>> import torch
    >>> from caltest.bridges.torch import skce_loss
    >>> logits = torch.tensor([[2.0, 0.0], [1.0, 0.0], [0.0, 1.0]], requires_grad=True)
    >>> loss = skce_loss(logits.softmax(dim=1), torch.tensor([0, 1, 1]), bandwidth=0.2)
    >>> loss.backward()
    >>> round(loss.item(), 4), logits.grad.shape
    (-0.0155, torch.Size([3, 2]))
    """
    width = positive_number("bandwidth", bandwidth)
    for name, data in (("probabilities", probabilities), ("targets", targets)):
        if not isinstance(data, torch.Tensor):
            raise TypeError(f"{name}: got {type(data).__name__}, wanted a torch.Tensor; ct.SKCE takes arrays")
    p = torch.stack([1.0 - probabilities, probabilities], dim=1) if probabilities.ndim == 1 else probabilities
    n = len(p)
    if p.ndim != 2 or n < 2 or not p.is_floating_point():
        got = f"{tuple(probabilities.shape)} of {probabilities.dtype}"
        raise ValueError(f"probabilities: got {got}, wanted floats (n, k) or (n,) for n >= 2")
    if tuple(targets.shape) != (n,) or targets.is_floating_point():
        raise ValueError(f"targets: got {tuple(targets.shape)} of {targets.dtype}, wanted whole numbers ({n},)")
    labels = targets.long()
    if targets.device.type == "cpu" and bool(((labels < 0) | (labels >= p.shape[1])).any()):
        raise ValueError(f"targets: got labels outside of 0..{p.shape[1] - 1}, the classes of the probabilities")
    if p.dtype.itemsize < 4:
        p = p.float()
    values = p.detach()
    if values.device.type == "cpu" and bool((values < 0.0).any() | ((values.sum(dim=1) - 1.0).abs() > 0.05).any()):
        raise ValueError(
            "probabilities: got negative numbers or rows that do not sum to 1, wanted probabilities; if these are "
            "logits, pass logits.softmax(dim=1), of one number for each row logits.sigmoid()"
        )
    residuals = torch.nn.functional.one_hot(labels, p.shape[1]) - p
    kernel = torch.exp(-0.5 * torch.cdist(p, p, p=1.0) / width)
    terms = kernel * (residuals @ residuals.T)
    return (terms.sum() - terms.diagonal().sum()) / (n * (n - 1))
