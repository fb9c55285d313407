"""`linewatch up` and the roles that it runs: worker, serve, devnet, pages."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Any, Final, cast

import click

from dashboard.logs import configure_logs
from dashboard.settings import Settings, load_settings
from dashboard.supervise import Patience, notify_systemd, supervise
from dashboard.wiring.clock import utc_now
from dashboard.wiring.roles import OUR_COMMAND, RoleDeaths, refuse_taken_ports, roles_of

_BEYOND_STOPPING: Final = 3.0
"""Seconds that a role may take to end beyond what requests under way are given."""

RunRole = Callable[[Settings, asyncio.Event], Awaitable[None]]


def _role_options(command: Callable[..., None]) -> Callable[..., Any]:
    return click.option(
        "--until-stdin-closes",
        is_flag=True,
        hidden=True,
        help="End when standard input ends, so that a role never outlives its parent.",
    )(command)


@click.command()
@click.option("--no-pages", is_flag=True, help="Everything but the pages.")
@_role_options
def up(*, no_pages: bool, until_stdin_closes: bool) -> None:
    """Run everything on this machine; without configuration, on a simulated chain."""
    settings = load_settings()
    roles = roles_of(settings, with_pages=not no_pages)
    refuse_taken_ports(roles)
    _migrate_store()
    _greet(settings, with_pages=not no_pages)
    patience = Patience(grace=settings.serve.stop_timeout.total_seconds() + _BEYOND_STOPPING)
    deaths = RoleDeaths(settings.home, utc_now)
    _run(
        "up",
        lambda stop: supervise(roles, stop, deaths, patience),
        lambda: all(role.is_ready() for role in roles),
        _always,
        until_stdin_closes=until_stdin_closes,
    )


def _migrate_store() -> None:
    """Bring the store to our schema in a process of its own: this one lives on, and stays small."""
    done = subprocess.run([*OUR_COMMAND, "migrate"], stdout=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        sys.exit(done.returncode)


@click.command()
@_role_options
def worker(*, until_stdin_closes: bool) -> None:
    """Poll the networks and send alerts; a second worker stands by."""
    _run_role("worker", until_stdin_closes=until_stdin_closes)


@click.command()
@_role_options
def serve(*, until_stdin_closes: bool) -> None:
    """Serve the exclusion RPC and the gas API."""
    _run_role("serve", until_stdin_closes=until_stdin_closes)


@click.command()
@_role_options
def devnet(*, until_stdin_closes: bool) -> None:
    """Run the embedded simulated chain."""
    _run_role("devnet", until_stdin_closes=until_stdin_closes)


@click.command()
@_role_options
def pages(*, until_stdin_closes: bool) -> None:
    """Serve the pages."""
    _run_role("pages", until_stdin_closes=until_stdin_closes)


def _run_role(name: str, *, until_stdin_closes: bool) -> None:
    settings = load_settings()
    run = _role(name)
    known = {role.name: role.is_ready for role in roles_of(settings)}
    answers = known.get(name, _always)
    _run(
        name,
        lambda stop: run(settings, stop),
        answers,
        answers,
        until_stdin_closes=until_stdin_closes,
    )


def _role(name: str) -> RunRole:
    """Import what builds a role, and only that: each role starts in half the time."""
    module = import_module(f"dashboard.wiring.{name}")
    return cast("RunRole", getattr(module, f"run_{name}"))


def _run(
    name: str,
    work: Callable[[asyncio.Event], Awaitable[None]],
    is_ready: Callable[[], bool],
    is_alive: Callable[[], bool],
    *,
    until_stdin_closes: bool,
) -> None:
    configure_logs(name)
    if until_stdin_closes:
        threading.Thread(target=_end_with_parent, daemon=True, name="parent").start()
    asyncio.run(_until_signalled(work, is_ready, is_alive))


async def _until_signalled(
    work: Callable[[asyncio.Event], Awaitable[None]],
    is_ready: Callable[[], bool],
    is_alive: Callable[[], bool],
) -> None:
    """Do the work; SIGINT and SIGTERM set the event that asks it to end."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    telling = asyncio.create_task(notify_systemd(is_ready, is_alive, stop))
    try:
        await work(stop)
    finally:
        telling.cancel()


def _always() -> bool:
    return True


def _end_with_parent() -> None:
    """Wait for the end of standard input, then ask this process to end.

    Reads the descriptor itself: `sys.stdin` would still be locked by this thread at exit.
    """
    while os.read(0, 4096):
        continue
    os.kill(os.getpid(), signal.SIGTERM)


def _greet(settings: Settings, *, with_pages: bool) -> None:
    """Print the addresses of what starts."""
    lines = []
    if with_pages:
        lines.append(f"  pages   http://{settings.pages.host}:{settings.pages.port}")
    lines.append(f"  APIs    http://{settings.serve.host}:{settings.serve.port}")
    if settings.has_devnet:
        lines.append(f"  devnet  http://{settings.devnet.host}:{settings.devnet.port} (simulated)")
    lines.append(f"  state   {settings.home}")
    if not settings.mail.smtp_host:
        lines.append(f"  mail    {settings.home / 'mail'} (no SMTP server is configured)")
    click.echo("\n".join(["Linewatch is starting; Ctrl-C stops it.", *lines]))
