"""A page opened in a real browser, where there is one."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
REPORT = """
window.addEventListener("error", event => document.body.dataset.error = event.message);
window.addEventListener("unhandledrejection", event => document.body.dataset.error = String(event.reason));
"""


def opened_page(html: str, folder: Path, script: str = "") -> str:
    """The page as it is after its scripts have run, and after ``script``; fails if one of them did."""
    if CHROMIUM is None:
        pytest.skip("needs Chromium, to run the page as a reader would")
    page = folder / "page.html"
    html = html.replace("<head>", f"<head><script>{REPORT}</script>", 1)
    html = html.replace("</body>", f'<script type="module">{script}</script></body>')
    page.write_text(html, encoding="utf-8")
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1200,900"]
    command += [f"--user-data-dir={folder / 'profile'}", "--virtual-time-budget=3000", "--dump-dom", page.as_uri()]
    dom = subprocess.run(command, capture_output=True, text=True, timeout=180, check=True).stdout
    error = re.search('data-error="([^"]*)"', dom)
    assert error is None, error
    return dom
