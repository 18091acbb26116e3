"""Addresses: patterns, wrappers that leave no trace in a path, and the message for an address that is not there."""

import pytest
import torch
from looking import Layers, chain
from torch import distributed, nn
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.optim.swa_utils import AveragedModel

import cutaway as cut
from cutaway.inside.address_globs import Site, find_sites, named_sites


class Pair(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([chain(), chain()])
        self.last = nn.Linear(2, 2)

    def forward(self, x):
        return self.last(self.layers[0](x) + self.layers[1](x))


PLAIN = ["layers.0", "layers.0.0", "layers.0.1", "layers.0.2", "layers.1", "layers.1.0", "layers.1.1", "layers.1.2"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("last", ["last"]),
        ("layers.*", ["layers.0", "layers.1"]),
        ("layers.*.2", ["layers.0.2", "layers.1.2"]),
        ("layers.1.**", ["layers.1.0", "layers.1.1", "layers.1.2"]),
        ("**.2", ["layers.0.2", "layers.1.2"]),
        ("**.last", ["last"]),  # any depth, also none
        ("**", [*PLAIN, "last"]),
        ("*", ["last"]),  # a ModuleList gives no value of its own
        ("la*", ["last"]),
        ("layers.?.0", ["layers.0.0", "layers.1.0"]),
        ("layers.*.0.input", ["layers.0.0.input", "layers.1.0.input"]),
        ("input", ["input"]),
    ],
)
def test_patterns(pattern, expected):
    assert list(find_sites(named_sites(Pair()), pattern)) == expected


def test_a_dot_in_a_pattern_is_a_dot():
    with pytest.raises(ValueError, match="got 'layersx0'"):
        find_sites(named_sites(Pair()), "layersx0")
    with pytest.raises(ValueError, match=r"got 'layers\.\*last'"):
        find_sites(named_sites(Pair()), "layers.*last")


def test_input_is_a_place_of_its_own():
    model = Pair()
    known = named_sites(model)
    assert find_sites(known, "last.input")["last.input"] == Site(model.last, is_input=True)
    assert find_sites(known, "last")["last"] == Site(model.last)
    assert find_sites(known, "input")["input"] == Site(model, is_input=True)


def test_a_sub_module_called_input_keeps_its_name():
    model = nn.Sequential()
    model.add_module("input", nn.Linear(3, 2))
    x = torch.randn(5, 3)
    with cut.trace(model, "input", "input.input") as seen:
        y = model(x)
    assert seen["input"] is y
    assert seen["input.input"] is x


def test_unknown_address_lists_the_nearest():
    with pytest.raises(ValueError) as error:
        cut.trace(Pair(), "layers.0.O")
    text = str(error.value)
    assert text.startswith("an address must name a module or tap of the model, got 'layers.0.O'; the nearest known are")
    assert "layers.0.0" in text


def test_unknown_address_finds_the_same_last_name_elsewhere():
    with pytest.raises(ValueError, match=r"got 'transformer.decoder.blocks.last'; the nearest known are: last$"):
        cut.trace(Pair(), "transformer.decoder.blocks.last")


def test_unknown_address_in_a_model_without_parts():
    with pytest.raises(ValueError, match="got 'weight'; the nearest known are: 'output' and 'input', as there are no"):
        cut.trace(nn.Linear(2, 2), "weight")


def test_a_shared_module_stands_under_each_of_its_names():
    model = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
    model.append(model[0])
    assert list(named_sites(model)) == ["", "0", "1", "2"]
    x = torch.randn(5, 3)
    with cut.trace(model, "*") as seen:
        y = model(x)
    assert len(seen.calls["0"]) == len(seen.calls["2"]) == 2
    assert torch.equal(seen["0"][0], model[0](x))
    assert torch.equal(seen["2"][1], y)
    assert torch.is_tensor(seen["1"])


class Doubled(nn.Module):
    """A wrapper of one's own, with a part beside the module it wraps."""

    wraps = "base"

    def __init__(self, base: nn.Module) -> None:
        super().__init__()
        self.base = base
        self.extra = nn.Identity()

    def forward(self, x):
        return self.extra(2 * self.base(x))


class DoubledChild(Doubled):
    pass


@pytest.fixture
def one_process():
    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    yield
    distributed.destroy_process_group()


def wrap_distributed(model):
    return nn.parallel.DistributedDataParallel(model)


def wrap_sharded(model):
    from torch.distributed.fsdp import FullyShardedDataParallel

    return FullyShardedDataParallel(model, device_id=torch.device("cpu"))


def wrap_fabric(model):
    fabric = pytest.importorskip("lightning_fabric").Fabric(accelerator="cpu", devices=1)
    return fabric.setup(model)


WRAPPERS = [
    torch.compile,
    wrap_distributed,
    wrap_sharded,
    wrap_fabric,
    nn.DataParallel,
    AveragedModel,
    checkpoint_wrapper,
    lambda model: torch.compile(wrap_distributed(model)),
    lambda model: wrap_distributed(torch.compile(model)),
    lambda model: checkpoint_wrapper(checkpoint_wrapper(model)),
]


@pytest.mark.filterwarnings("ignore:FSDP")
@pytest.mark.parametrize("wrap", WRAPPERS)
def test_wrappers_are_transparent_around_a_model(wrap, one_process):
    wrapped = wrap(Pair())
    assert list(cut.addresses(wrapped)) == [*PLAIN, "last"]


@pytest.mark.filterwarnings("ignore:FSDP")
@pytest.mark.parametrize("wrap", [w for w in WRAPPERS if w is not torch.compile][:3] + WRAPPERS[4:7])
def test_values_are_read_and_changed_through_wrappers(wrap, one_process):
    wrapped = wrap(Pair())
    x = torch.randn(5, 3)
    plain = wrapped(x)
    with cut.trace(wrapped, "input", "last", "layers.1.0.input") as seen:
        assert torch.equal(wrapped(x), plain)
    assert torch.equal(seen["input"], x)
    assert torch.equal(seen["last"], plain)
    assert torch.equal(seen["layers.1.0.input"], x)
    with cut.patch(wrapped, {"last": 7.0}):
        assert torch.equal(wrapped(x), torch.full((5, 2), 7.0))


@pytest.mark.parametrize("wrap", [Doubled, DoubledChild])
def test_a_wrapper_of_ones_own_says_what_it_wraps(wrap):
    model = Layers()
    x = torch.randn(2, 3)
    model.b = wrap(model.b)
    assert list(cut.addresses(model)) == ["a", "b", "b.extra", "c"]
    with cut.trace(model, "a", "b") as seen:
        model(x)
    assert torch.equal(seen["b"], 2 * model.b.base(torch.tanh(seen["a"])))  # what flows on: the wrapper's value


def test_a_wrapper_inside_a_model_stands_for_its_inner_module():
    model = nn.Sequential(checkpoint_wrapper(chain()), nn.Linear(2, 2))
    assert list(cut.addresses(model)) == ["0", "0.0", "0.1", "0.2", "1"]


def test_addresses_list_everything_with_kinds_and_shapes():
    model = Pair().train()
    listed = cut.addresses(model)
    assert (listed["last"], len(listed)) == (None, 9)
    assert repr(listed).splitlines()[0] == "layers.0    Sequential"
    listed = cut.addresses(model, torch.randn(7, 3))
    assert listed["layers.0.0"] == (7, 5)
    assert repr(listed).splitlines()[-1] == "last        Linear      (7, 2)"
    assert repr(cut.addresses(nn.Linear(1, 1))) == "no addresses but 'output' and 'input': the model has no sub-modules"
    with pytest.raises(KeyError, match=r"^an address must name a module or tap of the model, got 'lost'; .*: last"):
        listed["lost"]


def test_addresses_show_shapes_inside_structures_and_none_where_no_pass_came():
    model = nn.ModuleDict({"memory": nn.LSTM(3, 5, batch_first=True), "idle": nn.Linear(1, 1)})
    model.forward = lambda x: model["memory"](x)[0]
    listed = cut.addresses(model, torch.randn(2, 7, 3))
    assert listed["memory"] == ((2, 7, 5), ((1, 2, 5), (1, 2, 5)))
    assert listed["idle"] is None


def test_measuring_leaves_model_and_random_state_as_they_were():
    model = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Dropout(0.5))
    model[2].eval()
    modes = [module.training for module in model.modules()]
    state = {name: value.clone() for name, value in model.state_dict().items()}
    random = torch.get_rng_state()
    cut.addresses(model, torch.randn(7, 3, generator=torch.Generator().manual_seed(1)))
    assert [module.training for module in model.modules()] == modes
    assert torch.equal(torch.get_rng_state(), random)
    for name, value in model.state_dict().items():
        assert torch.equal(value, state[name])
    with pytest.raises(RuntimeError, match="mat1 and mat2"):
        cut.addresses(model, torch.randn(7, 4))
    assert [module.training for module in model.modules()] == modes
