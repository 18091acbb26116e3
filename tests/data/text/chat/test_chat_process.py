"""Chat templates in a process with bounds: templates that fill the memory or never end, and ordinary ones after."""

import os
import subprocess
import sys

import pytest

from cutaway.data.text.chat import chat_process
from cutaway.data.text.chat.chat_process import (
    ChatProcess,
    NoProcess,
    answer_to,
    read_block,
    render_bounded,
    write_block,
)

TALK = [{"role": "user", "content": "Hi — „du“ \ud800"}, {"role": "assistant", "content": "Ho"}]
PLAIN = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}{{ eos }}"
TOO_MUCH = "must need at most 1 second and 512 MB for a chat, got one that takes more, .*it may be broken or mean harm"
DOUBLED = (
    "{{% set ns = namespace(s={0}) %}}{{% for i in range(99) %}}{{% set ns.s = ns.s {1} ns.s %}}{{% endfor %}}"
    "{{{{ ns.s|length }}}}"
)


@pytest.mark.parametrize(
    "template",
    [
        "{{ 'a'.ljust(9999999999) }}",
        "{{ 'a'.zfill(9999999999) }}",
        "{{ 'a'.center(3000000000) }}",
        "{{ 'a'|center(9999999999) }}",
        "{{ '%9999999999d' % 1 }}",
        "{{ '%*d' % (999999999, 1) }}",
        "{{ '%9999999999d'|format(1) }}",
        "{{ '{:9999999999}'.format(1) }}",
        "{% set s = 'aaaaaaaaaa' * 100000 %}{{ s.replace('a', s) }}",
        "{{ 'a\nb'|indent(9999999999) }}",
        "{{ [1]|batch(9999999999, 'x')|list }}",
        "{{ range(99999)|join('a' * 999999) }}",
        "{{ ('a' * 9999999).join('b' * 9999999) }}",
        "{{ ('\t' * 999).expandtabs(99999999) }}",
        "{{ [[1]]|tojson(indent=9999999999) }}",
        "{{ ('a' * 9999999) ~ ('a' * 9999999) }}",
        "{{ 'a' * 1500000 }}",  # little for a process, much for every one of many chats
        "{{ ('<' * 9000000)|striptags }}",
        DOUBLED.format("'aaa'", "+"),
        DOUBLED.format("'aaa'", "~"),
        DOUBLED.format("[1, 2]", "+"),
        "{% for i in range(99999) %}" * 3 + "{% endfor %}" * 3,
    ],
)
def test_templates_that_take_too_much(template: str):
    with pytest.raises(ValueError, match=TOO_MUCH):
        render_bounded(template, TALK, {})
    assert render_bounded(PLAIN, TALK, {"eos": "</s>"}) == "user: Hi — „du“ \ud800\nassistant: Ho\n</s>", "it goes on"


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}", "got RecursionError"),
        ("{{" + "(" * 100_000 + "1" + ")" * 100_000 + "}}", "got RecursionError"),
        ("{{ 9 ** 99999999 }}", "may not take powers"),
        ("{{ messages[7].content }}", "got UndefinedError"),
    ],
)
def test_templates_that_fail_in_bounds(template: str, message: str):
    with pytest.raises(ValueError, match=f"must be able to write the messages, .*{message}"):
        render_bounded(template, TALK, {})


def test_one_process_renders_many_chats():
    process = ChatProcess()
    try:
        assert [process.render("{{ n }}", TALK, {"n": n}) for n in range(50)] == [str(n) for n in range(50)]
        first = process._process
        assert first is not None
        assert first.poll() is None
        with pytest.raises(ValueError, match=TOO_MUCH):
            process.render("{{ 'a'.ljust(9999999999) }}", TALK, {})
        assert process.render("{{ 1 }}", TALK, {}) == "1"
        assert process._process is not first
    finally:
        process.end()
        process.end()  # as often as one likes


def test_a_process_that_was_killed_is_started_again():
    process = ChatProcess()
    try:
        process.render("", TALK, {})
        assert process._process is not None
        process._process.kill()
        process._process.wait()
        assert process.render("{{ messages|length }}", TALK, {}) == "2"
    finally:
        process.end()


def test_long_conversations_have_room():
    long = [{"role": "user", "content": "word " * 2_000_000}]
    assert len(render_bounded("{{ messages[0].content }}{{ messages[0].content }}", long, {})) == 20_000_000


@pytest.mark.untyped
def test_values_without_a_plain_form():
    with pytest.raises(
        ValueError, match=r"must be given plain data .*, got other values \(a set\); convert them first"
    ):
        render_bounded("{{ x }}", TALK, {"x": {1}})
    assert render_bounded("{{ x[1] }}", TALK, {"x": (1, 2)}) == "2"


def test_where_no_process_can_be_started(monkeypatch):
    process = ChatProcess()
    monkeypatch.setattr(chat_process, "_process", process)
    monkeypatch.setattr(sys, "executable", os.devnull)
    with pytest.raises(NoProcess):
        process.render("", TALK, {})
    with pytest.warns(UserWarning, match="chat templates run without bounds .* no process can be started here"):
        assert render_bounded(PLAIN, TALK, {"eos": "."}).endswith("Ho\n.")
    with pytest.warns(UserWarning, match="no process"), pytest.raises(ValueError, match="got UndefinedError"):
        render_bounded("{{ a.b }}", TALK, {})
    with pytest.warns(UserWarning, match="no process"), pytest.raises(ValueError, match="not write more than"):
        render_bounded("{{ 'a' * 99999999999 }}", TALK, {})


def test_the_process_ends_with_the_one_that_started_it(tmp_path):
    code = (
        "from cutaway.data.text.chat import chat_process as c\n"
        "c.render_bounded('', [{'role': 'user', 'content': ''}], {})\nprint(c._process._process.pid)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    with pytest.raises(ProcessLookupError):
        os.kill(int(done.stdout), 0)


def test_answers_and_blocks(tmp_path):
    with (tmp_path / "blocks").open("w+b") as file:
        write_block(file, b"abc")
        write_block(file, b"")
        file.seek(0)
        assert (read_block(file), read_block(file), read_block(file)) == (b"abc", b"", None)
        file.seek(0)
        assert read_block(file, most=2) is None
    assert answer_to(b'{"template": "{{ 1 }}", "messages": [], "values": {}}') == b'{"text": "1"}'
