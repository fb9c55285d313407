"""`linewatch up` and the roles that it runs: worker, serve, devnet, pages."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from typing import Any, Final, cast

import click

from dashboard.errors import LinewatchError, SettingsError
from dashboard.logs import configure_logs, get_logger
from dashboard.settings import Settings, load_settings
from dashboard.settings.load import read_configuration
from dashboard.settings.values import authority_of
from dashboard.supervise import Patience, notify_systemd, run_beside, supervise
from dashboard.tracing import tracing
from dashboard.wiring.clock import utc_now
from dashboard.wiring.reloads import Reload, answering_reloads
from dashboard.wiring.roles import RoleDeaths, RunningRoles, roles_of

_BEYOND_STOPPING: Final = 3.0
"""Seconds that a role may take to end beyond what requests under way are given."""

_M_ARENA_MAX: Final = -8
"""As malloc.h of glibc has it."""

_log = get_logger("settings")

RunRole = Callable[..., Awaitable[None]]
"""Runs a role with these settings until an event; one that listens uses its `listener` too."""


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
    running = RunningRoles(with_pages=not no_pages)
    roles = running.take(settings)
    if status := run_beside(
        "migrate", partial(_migrate_store, settings), partial(_import_what_roles_share, settings)
    ):
        sys.exit(status)
    _greet(settings, with_pages=not no_pages)
    patience = Patience(grace=settings.serve.stop_timeout.total_seconds() + _BEYOND_STOPPING)
    deaths = RoleDeaths(settings.home, utc_now)

    reload = Reload(lambda: running.take(_checked_settings()))

    async def all_ready() -> bool:
        return all([await role.is_ready() for role in running.roles])

    def run_forked(name: str) -> None:
        listener = running.listener_of(name)
        with _reporting_failures():
            _run_role(name, listener, until_stdin_closes=True)

    async def run_all(stop: asyncio.Event) -> None:
        async with answering_reloads(settings.home, reload):
            await supervise(roles, run_forked, stop, deaths, patience, reload)

    configure_logs("up")
    work = partial(_until_signalled, run_all, until_stdin_closes=until_stdin_closes)
    asyncio.run(work(all_ready, _always, lambda _: reload.asked.set()))


def _checked_settings() -> Settings:
    """Load the settings again; SettingsError names every mistake."""
    settings, mistakes = read_configuration().checked()
    if mistakes:
        raise SettingsError("; ".join(map(str, mistakes)))
    return settings


def _end_if_settings_are_good(stop: asyncio.Event) -> None:
    """End so that a supervisor starts this role with new settings; wrong ones change nothing."""
    try:
        _checked_settings()
    except LinewatchError as error:
        _log.error("settings are not reloaded: the former ones stay in force", why=str(error))
    else:
        stop.set()


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

    The garbage collector leaves all that alone, in every role: it would write into each object, and
    so copy the memory that they share. NumPy may start no thread, which a fork would not have.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.disable()
    for name in ("serve", "worker", "devnet") if settings.has_devnet else ("serve", "worker"):
        _role(name)
    gc.enable()
    gc.freeze()


def _role_command(name: str, what: str) -> click.Command:
    @click.command(name, help=what)
    @_role_options
    def run(*, until_stdin_closes: bool) -> None:
        _run_role(name, until_stdin_closes=until_stdin_closes)

    return run


worker: Final = _role_command(
    "worker", "Poll the networks and send alerts; a second worker stands by."
)
serve: Final = _role_command("serve", "Serve the exclusion RPC and the gas API.")
devnet: Final = _role_command("devnet", "Run the embedded simulated chain.")
pages: Final = _role_command("pages", "Serve the pages.")


def _run_role(
    name: str, listener: socket.socket | None = None, *, until_stdin_closes: bool
) -> None:
    _share_memory_pools()
    settings = load_settings()
    if name == "pages":
        from dashboard.cli.served import let_commands_run  # noqa: PLC0415 - the pages alone do

        let_commands_run(settings)
    run = _role(name)
    if listener is not None:
        run = partial(run, listener=listener)
    known = {role.name: role.is_ready for role in roles_of(settings)}
    answers = known.get(name, _always)
    send_last_spans = tracing.start(name)
    configure_logs(name)
    work = partial(_until_signalled, partial(run, settings), until_stdin_closes=until_stdin_closes)
    try:
        asyncio.run(work(answers, answers, _end_if_settings_are_good))
    finally:
        send_last_spans()


def _share_memory_pools() -> None:
    """Let all threads share two memory pools, if the C library is glibc.

    By default threads have pools of their own, each of which keeps what the largest message or page
    took: after a storm a worker was some 15 MB larger, and pages at rest 5 MB. Only one thread runs
    Python at a time.
    """
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 2)


def _role(name: str) -> RunRole:
    """Import what builds a role, and only that: each role starts in half the time."""
    module = import_module(f"dashboard.wiring.{name}")
    return cast("RunRole", getattr(module, f"run_{name}"))


async def _until_signalled(
    work: Callable[[asyncio.Event], Awaitable[None]],
    is_ready: Callable[[], Awaitable[bool]],
    is_alive: Callable[[], Awaitable[bool]],
    hang_up: Callable[[asyncio.Event], None],
    *,
    until_stdin_closes: bool,
) -> None:
    """Do the work; SIGINT, SIGTERM or the end of standard input set the event that asks to end.

    SIGHUP calls `hang_up` with that event; a closed terminal sends it too, which ends us.
    """
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    on_terminal = os.isatty(0)
    loop.add_signal_handler(signal.SIGHUP, *((stop.set,) if on_terminal else (hang_up, stop)))
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
    """Ask this process to end if standard input has ended; otherwise read what is in it."""
    if not os.read(0, 4096):
        asyncio.get_running_loop().remove_reader(0)
        stop.set()


def _greet(settings: Settings, *, with_pages: bool) -> None:
    pages, serve, devnet = (
        f"http://{authority_of(each.host, each.port)}"
        for each in (settings.pages, settings.serve, settings.devnet)
    )
    lines = [f"  pages   {pages}"] if with_pages else []
    lines.append(f"  APIs    {serve}")
    if settings.has_devnet:
        lines.append(f"  devnet  {devnet} (simulated)")
    lines.append(f"  state   {settings.home}")
    if not settings.mail.smtp_host:
        lines.append(f"  mail    {settings.home / 'mail'} (unless Settings names a mail server)")
    click.echo("\n".join(["Linewatch is starting; Ctrl-C stops it.", *lines]))
