"""Conversations as text: what transformers makes of the same template, and templates that mean harm."""

import json

import pytest

from cutaway.data.text.chat.chat_templates import ChatText, choose_template, write_chat
from cutaway.data.text.tokenizers import Tokenizer, load_tokenizer, train_bpe

CHATML = (
    "{%- for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' "
    "+ '\n' }}{%- endfor %}{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{%- endif %}"
)
LLAMA = """{{ bos_token }}{% for message in messages %}
    {% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}
        {{ raise_exception('roles must alternate user/assistant') }}
    {% endif %}
    {% if message['role'] == 'user' %}[INST] {{ message['content'] | trim }} [/INST]
    {%- else %}{% generation %} {{ message['content'] }}{{ eos_token }}{% endgeneration %}{% endif %}
{% endfor %}"""
TOOLS = """{% for message in messages %}{% if loop.index0 == 5 %}{% break %}{% endif %}{{ message | tojson }}
{% endfor %}{% if tools is defined %}{{ tools | tojson(indent=2) }}{% endif %}"""
TALK = [
    {"role": "user", "content": " Wer bist du? <|im_end|>"},
    {"role": "assistant", "content": "Ein Modell — „klein“."},
    {"role": "user", "content": "Gut."},
]


@pytest.fixture
def tokenizer() -> Tokenizer:
    special = ["<|im_start|>", "<|im_end|>", "<s>", "</s>"]
    made = train_bpe(["the cat sat on the mat, user and assistant\n" * 20], 300, special)
    made.settings = {"bos_token": {"content": "<s>"}, "eos_token": "</s>", "chat_template": CHATML}
    return made


@pytest.mark.parametrize("template", [CHATML, LLAMA, TOOLS])
@pytest.mark.parametrize("reply", [True, False])
def test_equal_to_transformers(template: str, reply: bool, tokenizer, tmp_path):
    import transformers

    tokenizer.settings["chat_template"] = template
    tokenizer.save(tmp_path)
    tokenizer.save_settings(tmp_path)
    peer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    tools = [{"type": "function", "function": {"name": "föhn", "parameters": {}}}]
    more = {"tools": tools} if template == TOOLS else {}
    text = tokenizer.chat(TALK, reply=reply, **more)
    assert text == peer.apply_chat_template(TALK, tokenize=False, add_generation_prompt=reply, **more)
    theirs = peer.apply_chat_template(TALK, add_generation_prompt=reply, return_dict=False, **more)
    assert tokenizer.encode(text).tolist() == theirs
    again = load_tokenizer(tmp_path)
    assert again.chat(TALK, reply=reply, **more) == text, "the template is kept beside the tokenizer"


def test_special_tokens_are_tokens_in_a_chat_and_text_elsewhere(tokenizer):
    text = tokenizer.chat([{"role": "user", "content": "the cat"}])
    assert isinstance(text, ChatText)
    start, end = tokenizer.id_of("<|im_start|>"), tokenizer.id_of("<|im_end|>")
    ids = tokenizer.encode(text).tolist()
    assert (ids[0], ids.count(start), ids.count(end)) == (start, 2, 1)
    assert tokenizer.encode(str(text)).tolist() != ids, "a plain text is plain"
    assert tokenizer.encode(str(text), special=True).tolist() == ids
    assert tokenizer.decode(ids) == "user\nthe cat\nassistant\n"
    assert tokenizer.decode(ids, special=True) == text


def test_a_template_of_several(tokenizer):
    tokenizer.settings["chat_template"] = [
        {"name": "default", "template": "plain"},
        {"name": "tool_use", "template": "tools"},
    ]
    assert tokenizer.chat(TALK) == "plain"
    assert tokenizer.chat(TALK, template="tool_use") == "tools"
    with pytest.raises(ValueError, match="the chat template must be one of default, tool_use, got 'rag'; pass"):
        tokenizer.chat(TALK, template="rag")


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{{ raise_exception('no system role') }}", "got TemplateError: no system role; see which roles"),
        ("{% for %}", "got TemplateSyntaxError: "),
        ("{{ nothing.at.all }}", "got UndefinedError: 'nothing' is undefined"),
        ("{{ ''.__class__.__mro__[1].__subclasses__() }}", "got SecurityError: access to attribute '__class__'"),
        ("{{ messages.append(1) }}", "got SecurityError: "),
        ("{{ 'a' * 10000000000 }}", "got SecurityError: a chat template may not write more than 10,000,000"),
        ("{{ 9 ** 999999999 }}", "got SecurityError: a chat template may not take powers"),
        ("{% for i in range(1000000000) %}{% endfor %}", "got OverflowError: "),
        ("{{ 1 // 0 }}", "got ZeroDivisionError: "),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "got RecursionError: "),
        ("{% include '/etc/passwd' %}", "got TypeError: no loader"),
    ],
)
def test_templates_that_fail_or_mean_harm(template: str, message: str):
    with pytest.raises(ValueError, match=message):
        write_chat(template, TALK, {})


@pytest.mark.untyped
@pytest.mark.parametrize("messages", ["Hi", [], [{"content": "Hi"}], [["user", "Hi"]], None])
def test_what_is_no_conversation(messages):
    with pytest.raises(ValueError, match=r"a list of messages with a role and a content, got .*; try \[\{"):
        write_chat(CHATML, messages, {})


@pytest.mark.untyped
@pytest.mark.parametrize("stored", [None, 5, {"default": "x"}])
def test_a_tokenizer_without_a_template(stored):
    with pytest.raises(ValueError, match="needs the chat template of its tokenizer, got a tokenizer without one; take"):
        choose_template(stored)


def test_settings_are_read_from_three_files(tmp_path, tokenizer):
    tokenizer.save(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"eos_token": "</s>", "auto_map": {"x": "y.py"}}))
    (tmp_path / "special_tokens_map.json").write_text(json.dumps({"eos_token": "<s>", "bos_token": {"content": "<s>"}}))
    (tmp_path / "chat_template.jinja").write_text("{{ bos_token }}ä")
    found = load_tokenizer(tmp_path)
    assert found.special_ids == {"bos_token_id": found.id_of("<s>"), "eos_token_id": found.id_of("</s>")}
    assert found.chat(TALK) == "<s>ä"
    assert "auto_map" not in found.settings


@pytest.mark.parametrize(
    ("content", "message"), [("[1]", "got a list in"), ("{", "must be JSON"), ("[" * 200_000, "must")]
)
def test_broken_settings(content: str, message: str, tmp_path, tokenizer):
    tokenizer.save(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text(content)
    with pytest.raises(ValueError, match=rf"tokenizer_config.json must .*{message}|tokenizer_config.json {message}"):
        load_tokenizer(tmp_path)


def test_roles_that_no_model_knows():
    with pytest.raises(ValueError, match=r"one of system, developer, user, .*, got 'asistant'; no model has learned"):
        write_chat(CHATML, [{"role": "user", "content": "Hi"}, {"role": "asistant", "content": "Ho"}], {})
    own = "{% for m in messages %}{% if m.role == 'critic' %}!{% endif %}{{ m.content }}{% endfor %}"
    assert write_chat(own, [{"role": "critic", "content": "bad"}], {}) == "!bad", "its template names it"
    for role in ("system", "developer", "tool"):
        assert role in write_chat(CHATML, [{"role": role, "content": "x"}], {})
