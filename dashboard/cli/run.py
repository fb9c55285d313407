"""`linewatch up` and the roles that it runs: worker, serve, devnet, pages."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any, Final, cast

import click

from dashboard.errors import LinewatchError
from dashboard.logs import configure_logs
from dashboard.settings import Settings, load_settings
from dashboard.supervise import Patience, notify_systemd, run_beside, supervise
from dashboard.wiring.clock import utc_now
from dashboard.wiring.roles import RoleDeaths, refuse_taken_ports, roles_of

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
    if status := run_beside(
        "migrate", partial(_migrate_store, settings), partial(_import_what_roles_share, settings)
    ):
        sys.exit(status)
    _greet(settings, with_pages=not no_pages)
    patience = Patience(grace=settings.serve.stop_timeout.total_seconds() + _BEYOND_STOPPING)
    deaths = RoleDeaths(settings.home, utc_now)

    async def all_ready() -> bool:
        return all([await role.is_ready() for role in roles])

    _run(
        "up",
        lambda stop: supervise(roles, _run_forked, stop, deaths, patience),
        all_ready,
        _always,
        until_stdin_closes=until_stdin_closes,
    )


def _migrate_store(settings: Settings) -> None:
    from dashboard.wiring.store import migrate_store  # noqa: PLC0415 - in a process of its own

    with _reporting_failures():
        migrate_store(settings)


@contextmanager
def _reporting_failures() -> Iterator[None]:
    """End a forked process as a command ends."""
    try:
        yield
    except (LinewatchError, OSError) as error:
        from dashboard.cli.output import fail  # noqa: PLC0415 - not for what ends well

        fail(error)


def _import_what_roles_share(settings: Settings) -> None:
    """Import it before roles are forked; the pages import more.

    Python looks for no garbage among all that, in no role: it would write into each object, and so
    copy the memory that they share. NumPy may start no thread, which a fork would not have.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.disable()
    for name in ("serve", "worker", "devnet") if settings.has_devnet else ("serve", "worker"):
        _role(name)
    gc.enable()
    gc.freeze()


def _run_forked(name: str) -> None:
    with _reporting_failures():
        _run_role(name, until_stdin_closes=True)


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
    if name == "pages":
        from dashboard.cli.served import let_commands_run  # noqa: PLC0415 - the pages alone do

        let_commands_run(settings)
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
    is_ready: Callable[[], Awaitable[bool]],
    is_alive: Callable[[], Awaitable[bool]],
    *,
    until_stdin_closes: bool,
) -> None:
    configure_logs(name)
    asyncio.run(_until_signalled(work, is_ready, is_alive, until_stdin_closes=until_stdin_closes))


async def _until_signalled(
    work: Callable[[asyncio.Event], Awaitable[None]],
    is_ready: Callable[[], Awaitable[bool]],
    is_alive: Callable[[], Awaitable[bool]],
    *,
    until_stdin_closes: bool,
) -> None:
    """Do the work; SIGINT, SIGTERM or the end of standard input set the event that asks to end."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    if until_stdin_closes:
        loop.add_reader(0, _end_with_parent, stop)
    notifying = asyncio.create_task(notify_systemd(is_ready, is_alive, stop))
    try:
        await work(stop)
    finally:
        notifying.cancel()


async def _always() -> bool:
    return True


def _end_with_parent(stop: asyncio.Event) -> None:
    """Ask this process to end where standard input has ended, and read what it holds otherwise."""
    if not os.read(0, 4096):
        asyncio.get_running_loop().remove_reader(0)
        stop.set()


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
