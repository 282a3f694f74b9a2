"""Takes pictures of each view of the page with Chromium, as a phone and a desk show it, light and dark.

usage: python3 -m web.screenshots DIRECTORY [VIEW...]    needs chromium and chromedriver; TRANSFER_BINARY is the program
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from web.peers.browsers import Chromium
from web.peers.views import VIEWS, opened

# Width and height in CSS pixels, and whether it is a phone.
_SCREENS = ((390, 844, True), (1280, 800, False))


def main(directory: str, *names: str) -> int:
    for program in Chromium.needs:
        if not shutil.which(program):
            print(f"{program} is not there; on Debian, apt-get install chromium chromium-driver brings it.", file=sys.stderr)
            return 1
    if unknown := set(names) - {view.name for view in VIEWS}:
        print(f"There is no view {unknown.pop()}; there are {', '.join(view.name for view in VIEWS)}.", file=sys.stderr)
        return 2
    output = Path(directory)
    output.mkdir(parents=True, exist_ok=True)
    with opened() as (page, browser):
        for view in VIEWS:
            if names and view.name not in names:
                continue
            for width, height, is_phone in _SCREENS:
                browser.take_look(width, height, is_dark=False, is_phone=is_phone)
                page.show(view)
                for theme in ("light", "dark"):
                    browser.take_look(width, height, is_dark=theme == "dark", is_phone=is_phone)
                    (output / f"{view.name}-{width}-{theme}.png").write_bytes(browser.picture())
    print(f"The pictures are in {output}.")
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
