"""What README.md and docs/ point to exists: pages, headings, files, names."""

import re

import pytest

import run_examples

ROOT = run_examples.REPOSITORY
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\(([^)\s]+)\)")
PATH = re.compile(r"`((?:include|lib|tools|test|docs|\.ci)/[\w./*-]+)`")
NAME_IN_FILE = re.compile(r"`(\w+)`\s+in\s+`((?:include|lib|tools|test)/[\w./-]+)`")


def without_blocks(page):
    return re.sub(r"^ *```.*?^ *```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)


def anchors(page):
    """The anchors that GitHub makes of a page's headings."""
    headings = re.findall(r"^#+ (.*)$", without_blocks(page), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", text.lower()).replace(" ", "-") for text in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_page(page):
    text = without_blocks(page)
    wrong = []
    for link in LINK.findall(text):
        target, _, anchor = link.partition("#")
        file = (page.parent / target).resolve() if target else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            wrong.append(link)
    wrong += [path for path in PATH.findall(text) if not list(ROOT.glob(path.rstrip("/")))]
    wrong += [f"{name} in {path}" for name, path in NAME_IN_FILE.findall(text)
              if (ROOT / path).exists() and name not in (ROOT / path).read_text()]
    assert not wrong
