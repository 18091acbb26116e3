"""Networks that are known methods in disguise, checked against those methods. Notes: N3 §2.3–2.4."""

import itertools
import math
from collections.abc import Callable, Iterable

import numpy as np
import pytest
import scipy.linalg
import sklearn.cluster
import sklearn.datasets
import sklearn.decomposition
import sklearn.linear_model
import torch
from torch import Tensor, nn

from cutaway.blocks import Dense, Linear, cost, cross_entropy_loss, log_loss, logistic, squared_loss, threshold

pytestmark = pytest.mark.usefixtures("float64")


def minimise(parameters: Iterable[nn.Parameter], objective: Callable[[], Tensor], steps: int = 1000) -> None:
    """Train to the bottom: L-BFGS until the slope is about 1e-9."""
    optimizer = torch.optim.LBFGS(
        list(parameters),
        max_iter=steps,
        max_eval=3 * steps,
        tolerance_grad=1e-10,
        tolerance_change=0,
        history_size=50,
        line_search_fn="strong_wolfe",
    )

    def closure() -> Tensor:
        optimizer.zero_grad()
        J = objective()
        J.backward()
        return J

    optimizer.step(closure)


def standardised(x: np.ndarray) -> Tensor:
    return torch.from_numpy((x - x.mean(0)) / x.std(0))


def close(ours: Tensor, theirs: np.ndarray, tolerance: float = 1e-6) -> None:
    torch.testing.assert_close(ours.detach(), torch.as_tensor(theirs), rtol=tolerance, atol=tolerance)


# ---------------------------------------------------------------------------------------------------------------------
# Linear regression


@pytest.mark.parametrize("outputs", [1, 3])
def test_linear_net_with_squared_loss_is_least_squares(outputs):
    """Diabetes; the second time the progression and two of the blood values from the other columns."""
    x, y = sklearn.datasets.load_diabetes(return_X_y=True)
    if outputs == 3:
        x, y = x[:, :-2], np.column_stack((y, x[:, -2:]))
    x, y = standardised(x), standardised(y).reshape(-1, outputs)
    net = Linear(x.shape[1], outputs)
    minimise(net.parameters(), lambda: cost(squared_loss(net(x), y)))
    peer = sklearn.linear_model.LinearRegression().fit(x, y)
    close(net.weight.T, peer.coef_)
    close(net.bias, peer.intercept_)


def test_hidden_linear_layers_add_nothing():
    x, y = sklearn.datasets.load_diabetes(return_X_y=True)
    x, y = standardised(x), standardised(y)[:, None]
    net = nn.Sequential(Linear(10, 7), Linear(7, 5), Linear(5, 1))
    minimise(net.parameters(), lambda: cost(squared_loss(net(x), y)))
    close(net(x), sklearn.linear_model.LinearRegression().fit(x, y).predict(x))


# ---------------------------------------------------------------------------------------------------------------------
# Logistic regression. The columns are chosen so that no hyperplane separates the classes: else the best weights are
# infinite, for both.


def test_logistic_unit_with_log_loss_is_logistic_regression():
    x, y = sklearn.datasets.load_breast_cancer(return_X_y=True)
    x = standardised(x[:, [0, 1, 4, 5]])  # radius, texture, smoothness, compactness
    labels = torch.from_numpy(y).bool()[:, None]
    net = Linear(4, 1)
    minimise(net.parameters(), lambda: cost(log_loss(net(x), labels)))
    peer = sklearn.linear_model.LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12).fit(x, y)
    close(net.weight.T, peer.coef_)
    close(net.bias, peer.intercept_)
    close(logistic(net(x))[:, 0], peer.predict_proba(x)[:, 1])


def test_softmax_layer_with_log_loss_is_multinomial_logistic_regression():
    """Iris by its sepal length, digits by their first three principal components."""
    iris, species = sklearn.datasets.load_iris(return_X_y=True)
    digits, digit = sklearn.datasets.load_digits(return_X_y=True)
    digits = sklearn.decomposition.PCA(3).fit_transform(digits)
    for x, y in ((iris[:, :1], species), (digits, digit)):
        x, classes = standardised(x), torch.from_numpy(y)
        net = Linear(x.shape[1], int(y.max()) + 1)
        minimise(net.parameters(), lambda x=x, classes=classes, net=net: cost(cross_entropy_loss(net(x), classes)))
        peer = sklearn.linear_model.LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12).fit(x, y)
        close(net(x).softmax(-1), peer.predict_proba(x))
        # softmax does not see what all classes have in common, so the weights agree up to that
        close((net.weight - net.weight.mean(1, keepdim=True)).T, peer.coef_ - peer.coef_.mean(0, keepdims=True), 1e-5)


# ---------------------------------------------------------------------------------------------------------------------
# Principal components


@pytest.mark.parametrize(("name", "bottleneck"), [("iris", 2), ("diabetes", 3), ("digits", 3)])
def test_linear_autoencoder_spans_the_principal_subspace(name, bottleneck):
    """Baldi, Hornik 1989: every minimum is this subspace, in a basis of its own; so compare angles, not vectors."""
    x, _ = getattr(sklearn.datasets, f"load_{name}")(return_X_y=True)
    if name == "digits":
        x = x.reshape(-1, 4, 2, 4, 2).mean((2, 4)).reshape(-1, 16)  # coarser: pixels that are always 0 tell nothing
    x = torch.from_numpy((x - x.mean()) / x.std())  # the features keep their own means and scales
    encoder, decoder = Linear(x.shape[1], bottleneck), Linear(bottleneck, x.shape[1])
    minimise(
        [*encoder.parameters(), *decoder.parameters()], lambda: cost(squared_loss(decoder(encoder(x)), x)), steps=2000
    )
    peer = sklearn.decomposition.PCA(bottleneck).fit(x)
    angles = scipy.linalg.subspace_angles(decoder.weight.detach().numpy().T, peer.components_.T)
    assert angles.max() < 1e-5
    close(decoder(encoder(x)), peer.inverse_transform(peer.transform(x)), 1e-5)
    # the encoder looks along the same subspace: what it sends to 0 is orthogonal to it
    angles = scipy.linalg.subspace_angles(encoder.weight.detach().numpy(), peer.components_.T)
    assert angles.max() < 1e-5


# ---------------------------------------------------------------------------------------------------------------------
# K-means. An autoencoder whose B hidden units are thresholds, z = [x W + b ≥ 0] and x̂ = z V + c, has at most 2^B
# outputs x̂, the codewords c + Σ_k z_k v_k.
#
# One unit: the codewords c and c + v are any two points. (1) For a given partition into {z = 0} and {z = 1} the squared
# error is least with the two means as codewords. (2) For given codewords it is least with each x at the nearer one, and
# the nearer-than boundary between two points is a hyperplane, which the unit can make. So its best is the best of
# K-means with K = 2: the codewords are the centroids, although only partitions by hyperplanes were on offer.


class ThresholdAutoencoder(nn.Module):
    """x̂ = threshold(x W + b) V + c, with an exact minimiser for either half while the other is held fixed."""

    def __init__(self, width: int, units: int) -> None:
        super().__init__()
        self.encoder, self.decoder = Dense(width, units, threshold), Linear(units, width)

    def forward(self, x: Tensor) -> Tensor:
        return self.decoder(self.encoder(x))

    def error(self, x: Tensor) -> float:
        """The summed squared error, which K-means calls inertia."""
        return x.shape[1] * cost(squared_loss(self(x), x), "sum").item()

    @torch.no_grad()
    def fit_decoder(self, x: Tensor) -> None:
        """Least squares of x on the codes: step (1)."""
        z = torch.cat((self.encoder(x), torch.ones(len(x), 1)), 1)
        solution = torch.linalg.lstsq(z, x, driver="gelsd").solution  # gelsd: codes may be collinear
        self.decoder.weight.copy_(solution[:-1])
        self.decoder.bias.copy_(solution[-1])

    @torch.no_grad()
    def fit_encoder(self) -> None:
        """One unit spikes where c + v is at least as near as c, 2⟨v, x − c⟩ ≥ ‖v‖²: step (2)."""
        v, c = self.decoder.weight[0], self.decoder.bias
        self.set_unit(0, 2 * v, -(2 * c @ v + v @ v))

    @torch.no_grad()
    def set_unit(self, unit: int, w: Tensor, b: Tensor) -> None:
        self.encoder.linear.weight[:, unit] = w
        self.encoder.linear.bias[unit] = b

    @torch.no_grad()
    def codewords(self) -> Tensor:
        codes = itertools.product((0.0, 1.0), repeat=self.decoder.inputs)
        return self.decoder(torch.tensor(list(codes)))


def train_one_unit(x: Tensor, starts: int = 20) -> ThresholdAutoencoder:
    """Alternate the two steps until nothing changes, from random pairs of points; keep the best."""
    best = None
    for _ in range(starts):
        net = ThresholdAutoencoder(x.shape[1], 1)
        first, second = x[torch.randperm(len(x))[:2]]
        net.load_state_dict(net.state_dict() | {"decoder.weight": (second - first)[None], "decoder.bias": first})
        errors = [math.inf]
        while True:
            net.fit_encoder()
            net.fit_decoder(x)
            errors.append(net.error(x))
            assert errors[-1] <= errors[-2] * (1 + 1e-12), "each step is a minimiser, so the error cannot rise"
            if errors[-1] >= errors[-2] * (1 - 1e-12):
                break
        if best is None or errors[-1] < best.error(x):
            best = net
    return best


@pytest.mark.parametrize("name", ["blobs", "breast cancer", "iris"])
def test_one_threshold_unit_is_two_means(name):
    if name == "blobs":
        x = torch.from_numpy(sklearn.datasets.make_blobs(97, centers=2, cluster_std=2.0, random_state=0)[0])
    else:
        x = standardised(getattr(sklearn.datasets, f"load_{name.replace(' ', '_')}")(return_X_y=True)[0])
    net = train_one_unit(x)
    peer = sklearn.cluster.KMeans(2, n_init=20, tol=0, random_state=0).fit(x)
    order = torch.cdist(net.codewords(), torch.from_numpy(peer.cluster_centers_)).argmin(1)
    assert sorted(order.tolist()) == [0, 1]
    close(net.codewords(), peer.cluster_centers_[order])
    assert torch.equal(order[net.encoder(x)[:, 0].long()], torch.from_numpy(peer.labels_).long())
    assert net.error(x) == pytest.approx(peer.inertia_, rel=1e-9)


def test_hyperplanes_lose_nothing_against_all_partitions():
    """Eleven points: the best of all 2¹⁰ partitions into two is the best of those that a unit can make."""
    x = torch.randn(11, 2)

    def error(labels: Tensor) -> float:
        parts = [part for part in (x[labels], x[~labels]) if len(part)]
        return sum((part - part.mean(0)).square().sum().item() for part in parts)

    every = [torch.tensor([False, *bits]) for bits in itertools.product((False, True), repeat=10)]
    net = train_one_unit(x, starts=100)
    assert net.error(x) == pytest.approx(min(map(error, every)), rel=1e-12)
    assert net.error(x) < sorted(map(error, every))[1], "and the next best is worse"


def train_greedily(x: Tensor, units: int) -> ThresholdAutoencoder:
    """Add units one by one, each the best of all bisectors of two data points, with the decoder refitted."""
    net = train_one_unit(x)
    pairs = list(itertools.combinations(range(0, len(x), max(1, len(x) // 24)), 2))
    for unit in range(1, units):
        wider = ThresholdAutoencoder(x.shape[1], unit + 1)
        for old in range(unit):
            wider.set_unit(old, net.encoder.linear.weight[:, old], net.encoder.linear.bias[old])
        found = []
        for i, j in pairs:
            w = x[j] - x[i]
            wider.set_unit(unit, w, -w @ (x[i] + x[j]) / 2)
            wider.fit_decoder(x)
            found.append((wider.error(x), w, -w @ (x[i] + x[j]) / 2))
        _, w, b = min(found, key=lambda candidate: candidate[0])
        wider.set_unit(unit, w, b)
        wider.fit_decoder(x)
        net = wider
    return net


def test_more_threshold_units_are_more_clusters():
    """Clusters at the corners of a box, c + Σ z_k v_k: B units find 2^B of them, as K-means with K = 2^B does."""
    cloud = 0.3 * torch.randn(13, 3)
    corners = torch.tensor(list(itertools.product((0.0, 4.0), (0.0, 6.0), (0.0, 9.0))))
    x = (corners[:, None] + cloud).reshape(-1, 3)
    errors = []
    for units in (1, 2, 3):
        net = train_greedily(x, units)
        assert len({tuple(row) for row in net(x).tolist()}) == 2**units
        peer = sklearn.cluster.KMeans(2**units, n_init=10, tol=0, random_state=0).fit(x)
        assert net.error(x) == pytest.approx(peer.inertia_, rel=1e-9)
        errors.append(net.error(x))
    assert errors[0] > 2 * errors[1] > 4 * errors[2]


def test_the_codewords_of_several_units_are_sums():
    """Four clusters that are no parallelogram: four codewords still beat two, but not the four free ones of K-means."""
    centres = torch.tensor([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0], [4.0, 3.0]])
    x = (centres[:, None] + 0.3 * torch.randn(13, 2)).reshape(-1, 2)
    two, four = (sklearn.cluster.KMeans(k, n_init=10, tol=0, random_state=0).fit(x).inertia_ for k in (2, 4))
    net = train_greedily(x, 2)
    none, first, second, both = net.codewords()
    close(first + second, (none + both).numpy())
    assert two > net.error(x) > 2 * four


# ---------------------------------------------------------------------------------------------------------------------
# Sharpening


def test_scaling_the_weights_sharpens_the_logistic_unit_to_the_threshold_unit():
    """sup over |s| ≥ d of |σ(c s) − [s ≥ 0]| = σ(−c d) → 0, though at the boundary it stays ½ for every c."""
    x, _ = sklearn.datasets.load_iris(return_X_y=True)
    x = standardised(x)
    unit = Linear(4, 1)
    s = unit(x).detach()
    distances = []
    for c in (1, 4, 16, 64, 256):
        scaled = Linear(4, 1)
        scaled.load_state_dict({name: c * value for name, value in unit.state_dict().items()})
        assert torch.equal(threshold(scaled(x)), threshold(s)), "the decision does not depend on the scale"
        distance = (logistic(scaled(x)) - threshold(s)).abs()
        close(distance, logistic(-c * s.abs()).numpy(), 1e-12)
        distances.append(distance.max().item())
        assert distance.max().item() == pytest.approx(1 / (1 + math.exp(c * s.abs().min().item())), abs=1e-12)
    assert distances == sorted(distances, reverse=True)
    for c in (1, 1e3, 1e6):
        assert logistic(c * torch.zeros(())).item() == 0.5
        far = torch.linspace(0.01, 5, 101)
        gap = torch.cat([(logistic(c * side) - threshold(side)).abs() for side in (far, -far)]).max().item()
        assert gap == pytest.approx(1 / (1 + math.exp(0.01 * c)) if c < 1e4 else 0, abs=1e-12)


def test_rounding_the_logistic_unit_gives_the_threshold_unit():
    s = torch.randn(997)
    assert torch.equal(logistic(s).round(), threshold(s))
