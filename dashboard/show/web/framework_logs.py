"""Streamlit's log lines in our format: one handler for the whole process."""

from __future__ import annotations

import logging

import streamlit.logger


def join_framework_logs() -> None:
    """Let every logger of Streamlit, those to come too, hand its lines to the root logger.

    Streamlit gives each a handler of its own, which writes plain text: what a line quotes could
    begin another line. It looks this function of its module up whenever it makes a logger or
    reads its configuration.
    """
    streamlit.logger.setup_formatter = _propagate
    streamlit.logger.update_formatter()


def _propagate(logger: logging.Logger) -> None:
    for handler in list(logger.handlers):
        logger.removeHandler(handler)
    logger.propagate = True
