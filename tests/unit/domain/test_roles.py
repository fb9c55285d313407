"""Who may do what: each role all that lesser roles may, and an admin what is not listed."""

from __future__ import annotations

from itertools import pairwise

import pytest

from dashboard.domain.people.access import LEAST_ROLES, Action, Actor, Role, least_role
from dashboard.errors import NotAllowed
from tests.builders import A_MOMENT


def test_role_may_do_all_that_a_lesser_role_may() -> None:
    for lesser, greater in pairwise(Role):
        assert {each for each in Action if lesser.may(each)} < {
            each for each in Action if greater.may(each)
        }
    assert all(Role.ADMIN.may(each) for each in Action)
    assert [each.at_most(Role.SUPPORT) for each in Role] == [Role.VIEWER, *[Role.SUPPORT] * 3]


def test_action_that_is_not_listed_takes_an_admin() -> None:
    listed = frozenset().union(*LEAST_ROLES.values())

    assert {each for each in Action if least_role(each) is Role.ADMIN} == set(Action) - listed
    assert sum(map(len, LEAST_ROLES.values())) == len(listed)  # none has two least roles


@pytest.mark.parametrize(
    ("role", "may", "may_not", "said"),
    [
        (Role.VIEWER, Action.SET_PASSWORD, Action.TRACK, "a viewer here, and track"),
        (Role.SUPPORT, Action.TRACK, Action.ACKNOWLEDGE, "a support agent here, and acknowledge"),
        (Role.OPERATOR, Action.SILENCE, Action.INVITE, "an operator here, and invite"),
    ],
)
def test_refusal_names_both_roles(role: Role, may: Action, may_not: Action, said: str) -> None:
    by = Actor("Ann", A_MOMENT, role)

    by.require(may)
    with pytest.raises(NotAllowed, match=f"is {said} takes the role {least_role(may_not)}"):
        by.require(may_not)
