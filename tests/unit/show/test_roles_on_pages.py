"""Every page drawn for every role: each sees exactly the controls of what it may do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, TypeAlias
from uuid import UUID, uuid4

import pytest

from dashboard.application.application import Application
from dashboard.application.context import CheckedText, PageSettings
from dashboard.application.people import People
from dashboard.application.sessions import Device
from dashboard.application.text import PAGES
from dashboard.domain.alerts.silence import SilenceKind, SilenceRequest
from dashboard.domain.people.access import READS_ACCESS, Action, Actor, Role, least_role
from dashboard.domain.people.sign_in import SignInPolicy
from dashboard.domain.secret import Secret
from dashboard.wiring.page_settings import ChoosingSettings
from tests.browser.seeded_incidents import OPS, seed_incidents
from tests.browser.seeded_store import FLAT, SILENT, SIMULATED, seed, tx_hash
from tests.builders import A_MOMENT, an_address
from tests.passwords import CHEAP_HASHER
from tests.unit.settings.configuration_files import loaded
from tests.unit.show.page_runs import visit_in

Least: TypeAlias = Action | Role

READ: Final = Role.VIEWER
NETWORK: Final = "[networks.linea]\nnetwork_id = 59144\n"
CONTROLS: Final[Mapping[str, Mapping[str, Least]]] = {
    "": {
        "seen-": READ,
        "wall-enter": READ,
        "open-": READ,
        "acknowledge-": Action.ACKNOWLEDGE,
        "silencing-": Action.SILENCE,
        "again-": Action.RESEND,
    },
    "fees": {"choose-": READ, "csv-": READ, "sort-": READ},
    "rejections": {
        **dict.fromkeys(("choose-", "csv", "chip-"), READ),
        **dict.fromkeys(("silencing-", "silence-"), Action.SILENCE),
        **dict.fromkeys(("watching-", "watch-shown-"), Action.ADD_RULE),
        "watch-0x": Action.WATCH_SENDER,
        "unwatch-": Action.UNWATCH_SENDER,
    },
    "lookup": {
        "FormSubmitter:paste-": READ,
        "ask": READ,
        "lookup_": READ,
        "FormSubmitter:track-": Action.TRACK,
        "share": Action.SHARE,
        "unshare-": Action.END_SHARE,
        "edit-texts": Action.CHANGE_ANSWERS,
        "silencing-": Action.SILENCE,
        "watching-": Action.ADD_RULE,
    },
    "tracked": {
        **dict.fromkeys(("need-", "group-", "saved-", "chip-", "older", "tracked_"), READ),
        **dict.fromkeys(("FormSubmitter:track_", "track_csv", "Example"), Action.TRACK),
        "FormSubmitter:watch_sender-": Action.WATCH_SENDER,
        "unwatch-": Action.UNWATCH_SENDER,
        "FormSubmitter:save_filter-": Action.SAVE_FILTER,
        "FormSubmitter:remove_filter-": Action.REMOVE_FILTER,
        **dict.fromkeys(("choose-", "FormSubmitter:edit_many-"), Action.EDIT_TRACKED),
        "stop-tracking": Action.UNTRACK,
        "silencing-": Action.SILENCE,
        "watching-": Action.ADD_RULE,
    },
    "alerts": {
        **dict.fromkeys(("acknowledge-", "more-"), Action.ACKNOWLEDGE),
        "unacknowledge-": Action.UNACKNOWLEDGE,
        "hand-over-": Action.HAND_OVER,
        "resolve-": Action.RESOLVE,
        **dict.fromkeys(("silencing-", "silence", "FormSubmitter:silence-"), Action.SILENCE),
        "end-": Action.END_SILENCE,
        **dict.fromkeys(("watching-", "watch-"), Action.ADD_RULE),
        **dict.fromkeys(("turn-", "FormSubmitter:rules-", "form-"), Action.CHANGE_RULE),
        "edited-rules": Action.CHANGE_RULE,
        "on-": Action.TURN_ON,
        "off-": Action.TURN_OFF,
        "verify-": Action.VERIFY,
        "ask-": Action.ASK_TO_VERIFY,
        "FormSubmitter:recipient-hours-": Action.CHANGE_RECIPIENT,
        "again-": Action.RESEND,
    },
    "health": {"open-": READ},
    "settings": {
        **dict.fromkeys(("FormSubmitter:check-settings-", "change-", "audit-"), READS_ACCESS),
        **dict.fromkeys(("FormSubmitter:invite-form-", "link-"), Action.INVITE),
        "give-role-": Action.CHANGE_ROLE,
        "disable-": Action.DISABLE_PERSON,
        "enable-": Action.ENABLE_PERSON,
        "remove-": Action.REMOVE_PERSON,
        **dict.fromkeys(("out-", "end-"), Action.END_SESSION),
        **dict.fromkeys(("FormSubmitter:prices-", "FormSubmitter:test-"), Action.CHANGE_SETTINGS),
        **dict.fromkeys(("FormSubmitter:default-", "FormSubmitter:mail-"), Action.CHANGE_SETTINGS),
    },
}
"""What stands on each page to be pressed, by how its name begins, and which role gets it."""

PRESSED: Final = ("button", "checkbox", "popover", "download_button", "file_uploader")


@dataclass(frozen=True)
class Site:
    queries: Application
    sessions: Mapping[Role, UUID]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Yield an installation in which everything can be done, and somebody of each role."""
    with seed(tmp_path_factory.mktemp("roles"), A_MOMENT, seed_incidents) as store:
        settings = PageSettings(
            sign_in=SignInPolicy(timedelta(hours=12), timedelta(days=30)),
            public_url="https://watch.example",
            check_text=lambda _: CheckedText(),
            choosing=ChoosingSettings(loaded(tmp_path_factory.mktemp("files"), NETWORK)),
        )
        networks = (SIMULATED, SILENT, FLAT)
        made = Application(store, networks, None, lambda: A_MOMENT, settings=settings)
        made.people = People(made.context, CHEAP_HASHER)
        _make_everything(made)
        yield Site(made, {role: _join(made, role) for role in Role})


def _join(queries: Application, role: Role) -> UUID:
    invited = queries.people.invite(role.value, role, Actor("root", A_MOMENT)).reveal()
    password, device = Secret("correct horse battery"), Device("laptop", "")
    return queries.people.accept(invited, password, device).session.session_id


def _make_everything(queries: Application) -> None:
    by, day = Actor("root", A_MOMENT), timedelta(days=1)
    matchers = queries.silences.read_matchers(["module=HUB"])
    request = SilenceRequest(
        uuid4(), SilenceKind.SILENCE, matchers, A_MOMENT, A_MOMENT + day, "known"
    )
    queries.silences.add(request, by)
    queries.senders.watch([an_address(7)], [SIMULATED.network_id], "", by)
    queries.tracked.save_filter("mine", {"record": "Rejected"}, by)
    queries.sharing.share(tx_hash(1), day, by, "")
    queries.recipients.turn_off(OPS, by)
    queries.people.invite("Gone", Role.VIEWER, by)
    queries.people.disable("Gone", by)


@dataclass(frozen=True)
class View:
    """A page at an address; `opened` are parts of it that somebody unfolded or chose."""

    path: str
    address: Mapping[str, str]
    opened: Mapping[str, object]

    def controls(self, site: Site, role: Role) -> set[str]:
        """Return the names of what somebody of this role can press there."""
        page = visit_in(
            site.sessions[role], self.path or "overview", site.queries, self.opened, **self.address
        )
        assert not page.exception, (self, role)
        found = (each for kind in PRESSED for each in page.get(kind))
        return {str(name) for each in found if (name := _name_of(each))}


def _name_of(each: Any) -> str | None:  # noqa: ANN401 - an element of Streamlit
    return each.key or getattr(each, "label", None)


def views(site: Site, path: str) -> Iterator[View]:
    """Yield a page at first sight, in each of its sections, and with things opened."""
    yield View(path, {}, {})
    page = visit_in(site.sessions[Role.ADMIN], path or "overview", site.queries, {})
    [*sections] = (each for each in page.get("button_group") if each.key == "section")
    for section in sections:
        for name in getattr(section, "options"):  # noqa: B009 - of any element, for the types
            yield View(path, {"section": name}, {})
    yield from (View(path, *more) for more in _opened(site).get(path, ()))


def _opened(site: Site) -> Mapping[str, Sequence[tuple[Mapping[str, str], Mapping[str, object]]]]:
    queries = site.queries
    stories = queries.incidents.open()
    incident = str(stories[0].incident.incident_id)
    rejected = next(
        str(each.incident.incident_id) for each in stories if each.incident.rule == "rejections"
    )
    ids = {each.person.name: each.person.person_id for each in queries.people.all()}
    viewer, gone = ids[Role.VIEWER.value], ids["Gone"]
    unfolded = {f"more-{incident}": True, f"silencing-{incident}": True}
    changing = {
        f"change-{viewer}": True,
        f"change-{gone}": True,
        f"role-{viewer}-viewer": "support",
    }
    shown = {"silencing-shown": True, "watching-shown": True}
    return {
        "": [({}, {"attention-all": True})],
        "rejections": [
            ({"module": "HUB"}, shown),
            *(({"search": str(an_address(each))}, shown) for each in (1, 7)),
        ],
        "lookup": [({"tx": str(tx_hash(1))}, {})],
        "tracked": [
            ({"record": "Rejected"}, {}),
            ({"group": "Label"}, {}),
            ({"label": "night"}, {}),
        ],
        "alerts": [
            ({"incident": incident}, unfolded),
            ({"incident": rejected}, {f"watching-{rejected}": True}),
            ({"section": "Rules", "rule": "busy"}, {"form-busy--removing": True}),
        ],
        "settings": [({"section": "People and sessions"}, changing)],
    }


def least_of(path: str, name: str) -> Role:
    """Return the least role that gets a control; AssertionError where nobody said that."""
    known = [each for each in CONTROLS[path] if name.startswith(each)]
    assert known, f"{name} on the page {path or 'overview'} is new: say in CONTROLS who gets it"
    least = CONTROLS[path][max(known, key=len)]
    return least if isinstance(least, Role) else least_role(least)


@pytest.mark.parametrize("path", PAGES)
def test_each_role_sees_exactly_the_controls_of_what_it_may_do(site: Site, path: str) -> None:
    seen: set[str] = set()
    for view in views(site, path):
        whole = view.controls(site, Role.ADMIN)
        least = {name: least_of(path, name) for name in whole}
        seen |= whole
        for role in Role:
            found = view.controls(site, role)
            assert found == {each for each in whole if role.includes(least[each])}, (view, role)

    unseen = {each for each in CONTROLS[path] if not any(name.startswith(each) for name in seen)}
    assert not unseen, f"nothing on the page {path or 'overview'} begins with these"
