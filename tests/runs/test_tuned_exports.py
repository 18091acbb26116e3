"""Tuned runs as others load them: transformers has the same logits, peft the same adapter; and looks at such runs."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_bases import reviews, tiny_bert, tiny_gpt, tiny_vit

import cutaway as cut
from cutaway.models.base import with_head
from cutaway.models.specs.parts import HeadSpec, SentenceSpec
from cutaway.runs import execution
from cutaway.runs.checkpoints_in_and_out import export_run

transformers = pytest.importorskip("transformers")
QUICK: dict[str, Any] = dict(show="quiet", epochs=1, batch=16, rate=1e-2)


@pytest.fixture(scope="module", autouse=True)
def _without_report():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(execution, "report_run", lambda run: (run.path / "report.html").write_text("a report"))
        yield


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> cut.runs.Run:
    folder = tmp_path_factory.mktemp("exports")
    reviews(folder / "reviews.csv")
    tiny_bert(folder / "bert")
    return cut.tune(folder / "bert", data=folder / "reviews.csv", lora=2, out=folder / "run", pooling="cls", **QUICK)


def test_transformers_has_the_same_logits_of_classes(tuned: cut.runs.Run, tmp_path: Path):
    folder = export_run(str(tuned.path), str(tmp_path / "checkpoint"))
    theirs = transformers.BertForSequenceClassification.from_pretrained(folder).eval()
    assert theirs.config.id2label == {0: "neg", 1: "pos"}
    tokens = torch.tensor([[1, 6, 7, 16, 2], [1, 8, 20, 2, 0]])
    mask = tokens != 0
    ours = cut.load(tuned.path).model(tokens, mask=mask)
    assert torch.allclose(theirs(tokens, attention_mask=mask.long()).logits, ours, atol=1e-5)


def test_peft_loads_what_lora_learned(tuned: cut.runs.Run, tmp_path: Path):
    peft = pytest.importorskip("peft")
    from transformers import BertForSequenceClassification

    assert (tuned.path / "adapter" / "adapter_model.safetensors").is_file()
    folder = export_run(str(tuned.path), str(tmp_path / "adapter"), adapter=True)
    base = BertForSequenceClassification.from_pretrained(tuned.path.parent / "bert", num_labels=2)
    theirs = peft.PeftModel.from_pretrained(base, folder).eval()
    tokens = torch.tensor([[1, 6, 7, 16, 2]])
    assert torch.allclose(theirs(tokens).logits, tuned.model(tokens), atol=1e-5)


@pytest.mark.parametrize("more", [dict(dora=True), dict(lora_biases="lora"), dict(dora=True, lora_biases="all")])
def test_dora_and_biases_are_those_of_peft_and_transformers(tuned: cut.runs.Run, tmp_path: Path, more: dict[str, Any]):
    """Alone as peft's adapter, and merged as a checkpoint; loaded again, the run itself."""
    peft = pytest.importorskip("peft")
    base, data = tuned.path.parent / "bert", tuned.path.parent / "reviews.csv"
    settings = QUICK | dict(lora=2, pooling="cls", final="last", **more)
    run = cut.tune(base, data=data, out=tmp_path / "run", **settings)
    before = cut.from_pretrained(base).state_dict()
    after = {name.replace(".base.", "."): value for name, value in run.model.state_dict().items()}
    moved = {name for name in before if name.endswith(".bias") and not torch.equal(after[name], before[name])}
    assert ("norm.bias" in moved) == (more.get("lora_biases") == "all")
    assert ("blocks.0.mlp.up.bias" in moved) == ("lora_biases" in more)
    assert any("magnitude" in name for name in after) == ("dora" in more)
    tokens = torch.tensor([[1, 6, 7, 16, 2], [1, 8, 20, 2, 0]])
    mask = tokens != 0
    ours = cut.load(run.path).model(tokens, mask=mask)
    assert torch.equal(ours, run.model(tokens, mask=mask))
    folder = export_run(str(run.path), str(tmp_path / "adapter"), adapter=True)
    theirs = transformers.BertForSequenceClassification.from_pretrained(base, num_labels=2)
    theirs = peft.PeftModel.from_pretrained(theirs, folder).eval()
    assert torch.allclose(theirs(tokens, attention_mask=mask.long()).logits, ours, atol=1e-5)
    folder = export_run(str(run.path), str(tmp_path / "checkpoint"))
    theirs = transformers.BertForSequenceClassification.from_pretrained(folder).eval()
    assert torch.allclose(theirs(tokens, attention_mask=mask.long()).logits, ours, atol=1e-5)
    again = cut.tune(run, data=data, lora=2, out=tmp_path / "again", **QUICK | {"rate": 1e-12, "steps": 1})
    assert torch.allclose(again.model(tokens, mask=mask), ours, atol=1e-4)


def test_a_new_head_for_masked_tokens_is_transformers_class(tuned: cut.runs.Run, tmp_path: Path):
    (tmp_path / "text.txt").write_text("the film was a story and very so plot it " * 60)
    base = tiny_bert(tmp_path / "bert", pooler=True, sentence=SentenceSpec(pooling=("mean",)))
    settings = QUICK | dict(context=16, lora=2)
    run = cut.tune(base, data=tmp_path / "text.txt", out=tmp_path / "run", task="language", **settings)
    folder = export_run(str(run.path), str(tmp_path / "checkpoint"))
    theirs = transformers.BertForMaskedLM.from_pretrained(folder).eval()
    tokens = torch.tensor([[1, 6, 3, 16, 2], [1, 8, 3, 2, 0]])
    mask = tokens != 0
    ours = cut.load(run.path)
    assert torch.allclose(
        theirs(tokens, attention_mask=mask.long()).logits[mask], ours.model(tokens, mask=mask)[mask], atol=1e-5
    )
    again = cut.from_pretrained(folder)
    assert again.spec.head.kind == "masked"
    torch.testing.assert_close(again.embed(["the film was"]), ours.embed(["the film was"]))
    folder = export_run(str(run.path), str(tmp_path / "adapter"), adapter=True)
    alone = with_head(cut.from_pretrained(base), HeadSpec("masked"), keep_pooler=False).eval()
    cut.load_adapter(alone, folder)
    assert torch.allclose(alone(tokens[:1]), ours.model(tokens[:1]), atol=1e-5)


@pytest.mark.parametrize("way", [dict(lora=2), dict(adapter=4), dict(full=True)])
def test_sentence_transformers_has_the_same_vectors(way: dict[str, Any], tuned: cut.runs.Run, tmp_path: Path):
    peer = pytest.importorskip("sentence_transformers")
    texts = ["the film was fine", "a dull story", "very", "so awful it was and so cold"]
    (tmp_path / "texts.txt").write_text("\n".join(f"{text} {word}" for text in texts for word in ("so", "it", "a")))
    settings = QUICK | dict(task="pairs", data=tmp_path / "texts.txt", steps=4, final="last", context=8)
    run = cut.tune(tuned.path.parent / "bert", out=tmp_path / "run", **settings, **way)
    before = cut.from_pretrained(tuned.path.parent / "bert").embed(texts)
    ours = cut.load(run.path).embed(texts)
    assert not torch.allclose(ours, before, atol=1e-3)
    if "adapter" in way:
        with pytest.raises(ValueError, match="adapter"):
            export_run(str(run.path), str(tmp_path / "checkpoint"))
        return
    folder = export_run(str(run.path), str(tmp_path / "checkpoint"))
    theirs = peer.SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    assert theirs.max_seq_length == 8
    np.testing.assert_allclose(theirs.encode(texts), ours.numpy(), atol=1e-5)
    torch.testing.assert_close(cut.from_pretrained(folder).embed(texts), ours)


def test_a_language_model_and_a_vit(tmp_path: Path):
    (tmp_path / "text.txt").write_text("the film was a story and very so plot it " * 60)
    settings = QUICK | dict(context=16, sample_tokens=0)
    run = cut.tune(tiny_gpt(tmp_path / "gpt"), data=tmp_path / "text.txt", lora=2, out=tmp_path / "a", **settings)
    theirs = transformers.GPT2LMHeadModel.from_pretrained(export_run(str(run.path), str(tmp_path / "ax"))).eval()
    tokens = torch.tensor([[6, 7, 8, 9]])
    assert torch.allclose(theirs(tokens).logits, cut.load(run.path).model(tokens), atol=1e-5)
    images = np.random.default_rng(0).integers(0, 255, (40, 8, 8)).astype(np.uint8)
    np.savez(tmp_path / "images.npz", images=images, labels=np.array(["a", "b"] * 20))
    run = cut.tune(tiny_vit(tmp_path / "vit"), data=tmp_path / "images.npz", lora=2, out=tmp_path / "b", **QUICK)
    theirs = transformers.ViTForImageClassification.from_pretrained(export_run(str(run.path), str(tmp_path / "bx")))
    assert theirs.config.id2label == {0: "a", 1: "b"}
    pixels = torch.from_numpy(images[:2, None]).float() / 255
    assert torch.allclose(theirs.eval()(pixels).logits, cut.load(run.path).model(pixels), atol=1e-4)


def test_what_transformers_has_no_class_for_comes_as_body_and_head(tuned: cut.runs.Run, tmp_path: Path):
    base, data = tuned.path.parent / "bert", tuned.path.parent / "reviews.csv"
    run = cut.tune(base, data=data, lora=2, pooling="layers", context=8, out=tmp_path / "layers", **QUICK)
    folder = export_run(str(run.path), str(tmp_path / "x"))
    body = transformers.AutoModel.from_pretrained(folder, add_pooling_layer=False).eval()
    tokens = torch.tensor([[1, 6, 7, 16, 2]])
    ours, run = cut.from_pretrained(folder), cut.load(run.path)
    assert torch.allclose(body(tokens).last_hidden_state, run.model.encode(tokens), atol=1e-5)
    assert torch.allclose(ours(tokens), run.model(tokens), atol=1e-5)
    assert ours.head.context == 8  # as it was tuned
    again = cut.tune(folder, data=data, head_only=True, pooling="layers", out=tmp_path / "again", **QUICK)
    assert torch.equal(again.model.blocks[0].mlp.up.weight, ours.blocks[0].mlp.up.weight)


def test_a_run_without_an_adapter_has_none_to_export(tuned: cut.runs.Run, tmp_path: Path):
    base, data = tuned.path.parent / "bert", tuned.path.parent / "reviews.csv"
    run = cut.tune(base, data=data, head_only=True, pooling="mean", out=tmp_path / "mean", **QUICK)
    with pytest.raises(ValueError, match=r"an adapter is what LoRA or adapters learned .* got .*mean"):
        export_run(str(run.path), str(tmp_path / "x"), adapter=True)
    assert not (tmp_path / "x").exists()


def test_an_export_that_fails_leaves_nothing(tuned: cut.runs.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from cutaway.hub import pretrained

    def fail(*args: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(pretrained, "write_json", fail)
    with pytest.raises(KeyboardInterrupt):
        export_run(str(tuned.path), str(tmp_path / "x"))
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_is_told(tuned: cut.runs.Run, tmp_path: Path):
    (tmp_path / "file").write_text("no folder")
    for adapter in (False, True):
        with pytest.raises(ValueError, match=r"needs a folder that can be written, got .*file/sub \(.*\); choose"):
            export_run(str(tuned.path), str(tmp_path / "file" / "sub"), adapter)


def test_a_gpt_that_gives_classes_is_transformers_class(tuned: cut.runs.Run, tmp_path: Path):
    data = tuned.path.parent / "reviews.csv"
    run = cut.tune(tiny_gpt(tmp_path / "gpt"), data=data, lora=2, out=tmp_path / "run", **QUICK)
    folder = export_run(str(run.path), str(tmp_path / "x"))
    theirs = transformers.GPT2ForSequenceClassification.from_pretrained(folder).eval()
    tokens = torch.tensor([[1, 6, 7, 16, 2]])
    assert torch.allclose(theirs(tokens).logits, cut.load(run.path).model(tokens), atol=1e-5)


def test_a_step_is_that_of_a_plain_loop(tuned: cut.runs.Run, tmp_path: Path):
    """Two steps of AdamW by hand on the same batches give the weights of a run of two steps."""
    base, data = tuned.path.parent / "plain", tuned.path.parent / "reviews.csv"
    tiny_bert(base, dropout=0.0)
    settings = dict(
        full=True,
        steps=2,
        batch=8,
        rate=1e-2,
        schedule="constant",
        final="last",
        show="quiet",
        clip=0.0,
        fit_head=False,
    )
    run = cut.tune(base, data=data, out=tmp_path / "run", weight_decay=0.0, **settings)
    begun = run.recipe.begin()
    learner = begun.recipe.build(begun.task, begun.base)
    job = learner.job()
    model: Any = job.model
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, betas=(0.9, 0.999), weight_decay=0.0)
    texts = learner.train
    for step in range(2):
        rows = job.batches.at(step)
        tokens = torch.from_numpy(texts.tokens.padded(rows))
        mask = torch.arange(tokens.shape[1]) < torch.from_numpy(texts.tokens.lengths[rows])[:, None]
        loss = torch.nn.functional.cross_entropy(model(tokens, mask=mask), torch.from_numpy(texts.labels[rows]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    for name, value in run.model.state_dict().items():
        assert torch.allclose(value, model.state_dict()[name], atol=1e-5), name


def test_lower_layers_learn_slower(tuned: cut.runs.Run, tmp_path: Path):
    base, data = tuned.path.parent / "bert", tuned.path.parent / "reviews.csv"
    settings = dict(full=True, steps=1, batch=8, rate=1e-2, layer_decay=0.1, final="last", show="quiet", fit_head=False)
    run = cut.tune(base, data=data, out=tmp_path / "run", weight_decay=0.0, **settings)
    before, after = cut.from_pretrained(base).state_dict(), run.model.state_dict()
    moved = [(after[f"blocks.{i}.mlp.up.weight"] - before[f"blocks.{i}.mlp.up.weight"]).abs().max() for i in (0, 1)]
    assert moved[1] / moved[0] == pytest.approx(10, rel=0.05)
