"""The site of the documentation has every page once, and links that fit."""

from __future__ import annotations

import json
import posixpath
import re
from collections import Counter

import pytest

import kafkaspec as ks
from tests.pages import PAGES, name
from tools.site import pages

SHOWN = sorted(pages.pages())
REPOSITORY = "https://example.org/somewhere"


def test_navigation_has_every_page_once() -> None:
    # Is one missing? A page of docs/guide/ goes to a table of docs/guide/README.md, another one
    # of docs/ into tools/site/pages.py.
    counts = Counter(pages.listed(pages.navigation()))
    assert {page: counts[page] for page in {*SHOWN, *counts} if counts[page] != 1} == {}
    assert set(counts) == set(SHOWN)


def test_every_page_of_the_documentation_is_on_the_site() -> None:
    assert [name(page) for page in PAGES if name(page) not in pages.pages()] == []


def test_addresses_are_those_that_others_link() -> None:
    # The explorer leads to fields.
    text = pages.text_of(pages.FORMATS)
    linked = "formats/recordbatch.html#record_batch-crc"
    assert f"`{linked}`" in text
    address, _, anchor = linked.partition("#")
    assert pages.address("generated/docs/recordbatch.md") == address
    assert f'<a id="{anchor}">' in pages.text_of("generated/docs/recordbatch.md")


def test_no_two_pages_have_the_same_address() -> None:
    assert [a for a, count in Counter(map(pages.address, SHOWN)).items() if count > 1] == []
    assert pages.address("README.md") == "index.html"


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("find.md", "find.md"),
        ("../../README.md#licence", "../index.md#licence"),
        ("README.md", "../guide.md"),
        ("../../spec/README.md#rules", "../spec.md#rules"),
        ("../../generated/docs/index.md", "../formats/index.md"),
        ("../../LICENSE", f"{REPOSITORY}/blob/main/LICENSE"),
        ("../../spec/recordbatch.ksy#L3", f"{REPOSITORY}/blob/main/spec/recordbatch.ksy#L3"),
        ("../../generated/vectors", f"{REPOSITORY}/tree/main/generated/vectors"),
        ("nowhere.md", "nowhere.md"),
        ("https://kafka.apache.org/", "https://kafka.apache.org/"),
        ("#here", "#here"),
    ],
)
def test_links_are_changed_to_fit(link: str, expected: str) -> None:
    where, text = pages.staged("docs/guide/verify.md", f"# A\n\n[a]({link}) b\n", REPOSITORY)
    assert where == "guide/verify.md"
    assert f"[a]({expected}) b" in text


def test_code_stays_as_it_is() -> None:
    code = "```python\nrows[0](seek.md)\n```\n\nSee `x[0](find.md)`.\n"
    assert pages.staged("docs/guide/verify.md", code, REPOSITORY)[1].endswith(f"\n{code}")


@pytest.mark.slow
def test_every_link_between_pages_leads_to_a_page() -> None:
    places = {pages.place(page) for page in SHOWN} | set(map(pages.place, pages.shown()))
    wrong = []
    for page in SHOWN:
        where, text = pages.staged(page, pages.text_of(page), REPOSITORY)
        text = re.sub(r"^```.*?^```$|`[^`\n]+`", "", text, flags=re.MULTILINE | re.DOTALL)
        for link in re.findall(r"\]\((?![a-z]+:)([^)#\s]+)", text):
            target = posixpath.normpath(posixpath.join(posixpath.dirname(where), link))
            if target not in places:
                wrong.append(f"{page}: {link}")
    assert wrong == []


def test_the_api_has_every_public_name() -> None:
    texts = [pages.staged(page, pages.text_of(page), REPOSITORY)[1] for page in pages.api()]
    found = re.findall(r"^##? (\w+)$", "\n".join(texts), re.MULTILINE)
    assert set(found) >= set(ks.__all__)


def test_fields_in_the_explorer_lead_to_the_format_pages_of_the_site() -> None:
    text = pages.explorer(pages.text_of(pages.EXPLORER_FILE))
    assert '<meta name="explorer-pages" content="../formats/" data-ending="html">' in text
    assert ".dataset.ending" in text
    with pytest.raises(ValueError, match=r"explorer\.html has no"):
        pages.explorer(text)


def test_a_drawing_brings_the_program_that_draws_it() -> None:
    _, text = pages.staged("docs/architecture.md", "a\n\n```mermaid\na --> b\n```\n", REPOSITORY)
    assert '<script src="assets/mermaid.js"></script>' in text


def test_what_browsers_run_is_locked_and_names_no_registry() -> None:
    lock = json.loads(pages.text_of("tools/site/package-lock.json"))
    wanted = json.loads(pages.text_of("tools/site/package.json"))["dependencies"]
    assert lock["packages"][""]["dependencies"] == wanted
    for path, entry in lock["packages"].items():
        assert "resolved" not in entry
        assert not path or entry["integrity"].startswith("sha512-"), path
