"""The sandbox of chat templates by itself: what it forbids, and which failures are the template's own."""

import pytest
from jinja2.exceptions import SecurityError

from cutaway.data.text.chat.chat_sandbox import failure_of, forget_templates, render_template


@pytest.mark.parametrize(
    "template", ["{{ ''.__class__.__mro__ }}", "{{ messages.append(1) }}", "{{ 2 ** 3 }}", "{{ [1] * 99999999 }}"]
)
def test_what_is_forbidden(template: str):
    with pytest.raises(SecurityError):
        render_template(template, [], {})


def test_templates_see_messages_and_values():
    messages = [{"role": "user", "content": "Hi"}]
    template = "{{ messages[0].content }} {{ name }} {{ messages | tojson }}"
    assert render_template(template, messages, {"name": "ä"}) == 'Hi ä [{"role": "user", "content": "Hi"}]'
    forget_templates()
    assert render_template("{% generation %}x{% endgeneration %}", messages, {}) == "x"


def test_failures_of_templates():
    assert failure_of(ZeroDivisionError("division by zero")) == "ZeroDivisionError: division by zero"
    assert failure_of(KeyboardInterrupt()) is None
    assert failure_of(MemoryError()) is None
