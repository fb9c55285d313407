"""`linewatch answers`: the templates of the texts that people copy from a look-up."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from dashboard.application.answers import AnswerTexts
from dashboard.application.listing import Json
from dashboard.cli.installation import open_installation, text_of
from dashboard.cli.options import FILE, as_json
from dashboard.cli.output import WRONG_INPUT, print_json, say, warn, write
from dashboard.domain.rejections.answer_template import PLACEHOLDERS, AnswerFileState


@click.group()
def answers() -> None:
    """Show and change the templates of the texts for customers and engineers.

    They are the file answers.toml in the folder of the settings; pages change the same file.
    """


@answers.command()
@as_json
def show(*, as_json: bool) -> None:
    """Print the file of templates, or the built-in one where there is none.

    Its first lines say what a template may name.
    """
    with open_installation() as here:
        state = AnswerTexts(here.source).state()
    if as_json:
        form: Json = {
            "file": state.source,
            "isBuiltIn": state.text is None,
            "mistakes": list(state.mistakes),
            "placeholders": dict(PLACEHOLDERS),
            "text": state.editable(),
        }
        print_json(form)
    else:
        write(state.editable(), nl=False)
    _end_with(state)


@answers.command()
@click.argument("file", type=FILE, required=False)
def check(*, file: Path | None) -> None:
    """Name every mistake of a file, by default of the one in force, with its line and remedy."""
    text = None if file is None else text_of(file)
    with open_installation() as here:
        queries = AnswerTexts(here.source)
        state = queries.state() if text is None else queries.check(text)
    _end_with(state)
    say(
        "No mistake."
        if state.text is not None
        else "There is no file: the built-in ones are in force."
    )


@answers.command("import")
@click.argument("file", type=FILE)
def import_(*, file: Path) -> None:
    """Put a file in force; - reads standard input. One with a mistake changes nothing."""
    text = text_of(file)
    with open_installation() as here:
        queries = AnswerTexts(here.source)
        _end_with(queries.check(text))
        queries.change(text, here.user())
        say(f"{queries.state().source} is in force.")


@answers.command()
def reset() -> None:
    """Remove the file, so that the built-in templates are in force again."""
    with open_installation() as here:
        AnswerTexts(here.source).change(None, here.user())
    say("The built-in templates are in force.")


def _end_with(state: AnswerFileState) -> None:
    """Name the mistakes and end, where there are any."""
    for each in state.mistakes:
        warn(each)
    if state.mistakes:
        sys.exit(WRONG_INPUT)
