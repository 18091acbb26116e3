"""The device that a run computes on, and its precision."""

import pytest
import torch

from cutaway.training.devices import find_device, find_precision


def test_devices_that_this_machine_has():
    assert find_device("cpu") == torch.device("cpu")
    found = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else torch.device("cpu")
    assert find_device("auto") == found


def test_a_device_must_be_one_that_there_is():
    with pytest.raises(ValueError, match="device must be auto, cpu, cuda, cuda:N or mps, got 'gpu'; try --device cpu"):
        find_device("gpu")


@pytest.mark.skipif(torch.accelerator.is_available(), reason="says what happens on a machine without an accelerator")
def test_a_device_must_be_one_that_this_machine_has():
    with pytest.raises(ValueError, match="one that this machine has, got 'cuda'; try --device auto"):
        find_device("cuda")


def test_a_device_counts_from_zero(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: torch.device("cuda"))
    monkeypatch.setattr(torch.accelerator, "device_count", lambda: 2)
    assert find_device("auto") == torch.device("cuda")
    assert find_device("cuda:1") == torch.device("cuda:1")
    with pytest.raises(ValueError, match="got 'cuda:2' of 2; they count from 0"):
        find_device("cuda:2")


def test_half_precision_only_where_there_are_units_for_it(monkeypatch: pytest.MonkeyPatch):
    cpu, gpu = torch.device("cpu"), torch.device("cuda")
    assert find_precision("auto", cpu) is None
    for able, chosen in [(True, torch.bfloat16), (False, None)]:
        monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation=True, able=able: able)
        assert find_precision("auto", gpu) is chosen
        assert find_precision("float32", gpu) is None
        assert find_precision("auto", cpu) is None


def test_half_precision_must_not_be_forced_on_a_cpu():
    with pytest.raises(
        ValueError, match=r"precision=bfloat16 needs a device with units for it, got cpu.*leave it at auto"
    ):
        find_precision("bfloat16", torch.device("cpu"))
