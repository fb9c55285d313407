"""Keys in the store: one in use of each name, credentials that end, counts that add up."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from dashboard.domain.people.access import KeyLimits
from dashboard.store.access.api_keys import (
    Credential,
    KeyUse,
    add_uses,
    all_keys,
    create_key,
    find_key,
    key_uses,
    keys_in_use,
    keys_version,
    limit_key,
    rename_key,
    revoke_key,
    rotate_key,
)
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store, open_store
from tests.builders import A_MOMENT, A_NETWORK, seconds
from tests.unit.store.races import CONTENDERS, Race

LIMITS = KeyLimits(
    network_ids=frozenset({A_NETWORK}),
    methods=frozenset({"subscribe", "busyThreshold"}),
    requests_per_second=2.5,
    burst=7,
    may_report=False,
)


def a_credential(number: int = 1) -> Credential:
    return Credential(bytes([number]) * 32, bytes([number + 100]) * 32, A_MOMENT + seconds(number))


def make(store: Store, name: str = "wallet", number: int = 1) -> bool:
    with store.write() as connection:
        return create_key(connection, name, LIMITS, a_credential(number))


def test_key_is_found_with_everything_that_was_kept(store: Store) -> None:
    assert make(store)

    with store.read() as connection:
        found = find_key(connection, "wallet")

    assert found is not None
    assert found.limits == LIMITS
    assert (found.created_at, found.revoked_at) == (a_credential().created_at, None)
    assert found.credentials == (a_credential(),)


def contend(store: Store, number: int) -> bool:
    return make(store, number=number + 1)


def test_name_is_given_once_whoever_asks_at_once(url: str, race: Race) -> None:
    assert sorted(race(url, contend)) == [False] * (CONTENDERS - 1) + [True]


def test_limits_are_replaced_whole(store: Store) -> None:
    make(store)
    with store.write() as connection:
        assert limit_key(connection, "wallet", KeyLimits(burst=3))
        found = find_key(connection, "wallet")

    assert found is not None
    assert found.limits == KeyLimits(burst=3)


def test_renamed_key_keeps_its_credentials(store: Store) -> None:
    make(store)
    with store.write() as connection:
        assert rename_key(connection, "wallet", "purse")
        found = [(each.name, each.credentials) for each in keys_in_use(connection)]

    assert found == [("purse", (a_credential(),))]


def test_revoked_key_stays_listed_and_frees_its_name(store: Store) -> None:
    make(store)
    with store.write() as connection:
        assert revoke_key(connection, "wallet", A_MOMENT + seconds(60))
        assert keys_in_use(connection) == []
    assert make(store, number=2)

    with store.read() as connection:
        latest, revoked = all_keys(connection)
    assert (latest.revoked_at, revoked.revoked_at) == (None, A_MOMENT + seconds(60))
    [ended] = revoked.credentials
    assert ended.ends_at == A_MOMENT + seconds(60)


def test_rotated_key_has_both_credentials_until_the_old_one_ends(store: Store) -> None:
    make(store)
    ends_at = A_MOMENT + seconds(3600)
    with store.write() as connection:
        assert rotate_key(connection, "wallet", a_credential(2), ends_at)
        found = find_key(connection, "wallet")

    assert found is not None
    assert found.credentials == (a_credential(2), replace(a_credential(), ends_at=ends_at))
    assert not found.credentials[1].is_over(ends_at - seconds(0.001))
    assert found.credentials[1].is_over(ends_at)


def test_second_rotation_prolongs_no_credential(store: Store) -> None:
    make(store)
    with store.write() as connection:
        rotate_key(connection, "wallet", a_credential(2), A_MOMENT + seconds(10))
        rotate_key(connection, "wallet", a_credential(3), A_MOMENT + seconds(99))
        found = find_key(connection, "wallet")

    assert found is not None
    ends = [each.ends_at for each in found.credentials]
    assert ends == [None, A_MOMENT + seconds(99), A_MOMENT + seconds(10)]


def test_key_that_is_not_there_is_not_changed(store: Store) -> None:
    with store.write() as connection:
        before = keys_version(connection)
        changes = [
            limit_key(connection, "nobody", LIMITS),
            rename_key(connection, "nobody", "somebody"),
            revoke_key(connection, "nobody", A_MOMENT),
            rotate_key(connection, "nobody", a_credential(), A_MOMENT),
        ]
        assert (changes, keys_version(connection)) == ([False] * 4, before)


def test_version_is_another_one_after_each_change(store: Store) -> None:
    changes: list[Callable[[Connection], object]] = [
        lambda it: create_key(it, "wallet", LIMITS, a_credential()),
        lambda it: limit_key(it, "wallet", KeyLimits()),
        lambda it: rename_key(it, "wallet", "purse"),
        lambda it: rotate_key(it, "purse", a_credential(2), A_MOMENT),
        lambda it: revoke_key(it, "purse", A_MOMENT),
    ]
    seen = []
    for change in changes:
        with store.write() as connection:
            change(connection)
            seen.append(keys_version(connection))

    assert seen == [1, 2, 3, 4, 5]


def test_uses_of_several_processes_add_up_and_the_latest_time_stands(url: str) -> None:
    late, early = A_MOMENT + seconds(9), A_MOMENT
    for moment, calls in ((late, 3), (early, 40)):
        with open_store(url) as store, store.write() as connection:
            add_uses(connection, {b"a" * 32: KeyUse(moment, calls, 1)})

    with open_store(url) as store, store.read() as connection:
        assert key_uses(connection) == {b"a" * 32: KeyUse(late, 43, 2)}


def test_uses_of_many_keys_are_one_statement_and_none_is_no_write(store: Store) -> None:
    many = {bytes([each]) * 32: KeyUse(A_MOMENT, each, 0) for each in range(50)}

    with store.write() as connection:
        add_uses(connection, {})
        add_uses(connection, many)
        assert key_uses(connection) == many
