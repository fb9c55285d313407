"""What SpamAssassin makes of one mail of each kind: `python -m tests.spam_scores`.

Debian's own rules, without asking the network. A mail is spam from 5.0 points on.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.mail_samples import as_mail, mail_sample, sample_kinds
from tests.provision import program

_STATUS = re.compile(
    r"^X-Spam-Status: \w+, score=(-?[\d.]+) required=\S+ tests=(.*?) autolearn",
    re.MULTILINE | re.DOTALL,
)


def spam_scores(folder: Path) -> dict[str, tuple[float, str]]:
    """Return the points of each kind of mail, and the rules that gave them; one process judges all.

    The folder keeps the mails.
    """
    kinds = sample_kinds()
    files = [folder / f"{number:03}.eml" for number in range(len(kinds))]
    for kind, file in zip(kinds, files, strict=True):
        file.write_bytes(as_mail(mail_sample(kind)))
    offline = ["--local", "--test-mode", "--nocreate-prefs"]
    done = subprocess.run(
        [program("spamassassin"), *offline, *files], capture_output=True, check=True
    )
    found = _STATUS.findall(done.stdout.decode("utf-8", "replace"))
    return {
        kind: (float(points), "".join(rules.split()))
        for kind, (points, rules) in zip(kinds, found, strict=True)
    }


if __name__ == "__main__":
    with TemporaryDirectory() as scratch:
        for name, (score, fired) in spam_scores(Path(scratch)).items():
            sys.stdout.write(f"{score:5.1f}  {name:24} {fired}\n")
