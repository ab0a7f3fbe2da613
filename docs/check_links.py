"""Check that all links and pictures within a built site exist.

python docs/check_links.py docs/_build/html
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """Collects the links and the anchors of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.anchors.update(v for k in ("id", "name") if (v := values.get(k)))
        for name in ("href", "src"):
            if value := values.get(name):
                self.links.append(value)


def main() -> None:
    root = Path(sys.argv[1]).resolve()
    pages = {}
    for path in sorted(root.rglob("*.html")):
        pages[path] = Page()
        pages[path].feed(path.read_text(encoding="utf-8"))
    if not pages:
        sys.exit(f"Expected a built site in {root}; got no page. Run `make docs`.")
    broken, remote = [], set()
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme == "data":
                continue
            if parts.scheme or parts.netloc:
                remote.add(link)
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            is_there = target.is_file() and target.is_relative_to(root)
            fragment = unquote(parts.fragment)
            if is_there and fragment and target in pages:
                is_there = fragment in pages[target].anchors
            if not is_there:
                broken.append(f"{path.relative_to(root)}: {link}")
    if broken:
        sys.exit("Broken links:\n" + "\n".join(broken))
    print(
        f"{len(pages)} pages without broken links; {len(remote)} links to other sites not checked."
    )


if __name__ == "__main__":
    main()
