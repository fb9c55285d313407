"""Lists of transactions: pasted text or CSV, where a bad line costs no other line."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.domain.tracking.remarks import MOST_TAGS, TAGS_LEFT_OUT, Remarks
from dashboard.domain.tracking.track_csv import ListedTransaction, TrackList, in_words, track_lists
from tests.builders import A_MOMENT, A_NETWORK, a_hash

ATTEMPT = datetime(2026, 11, 20, 10, 0, tzinfo=UTC)


def read_track_list(text: str, now: datetime) -> TrackList:
    return next(track_lists(text, now, None))


def read(*lines: str) -> TrackList:
    return read_track_list("\n".join(lines), A_MOMENT)


def test_list_without_a_header_is_any_text_with_hashes_in_it() -> None:
    listed = read(f"see https://explorer.example/tx/{a_hash(1)}", "", f"{a_hash(2)}, {a_hash(3)}")

    assert [(each.line, each.tx_hash) for each in listed.transactions] == [
        (1, a_hash(1)),
        (3, a_hash(2)),
        (3, a_hash(3)),
    ]
    assert listed.wrong == ()


def test_list_of_nothing_holds_nothing() -> None:
    assert read("") == TrackList((), (), ())


def test_list_with_a_header_takes_time_label_and_note_of_each_line() -> None:
    listed = read("label,note,hash,attempted_at", f'"A, B",why,{a_hash()},2026-11-20 10:00')

    assert listed.transactions == (ListedTransaction(2, a_hash(), Remarks(ATTEMPT, "A, B", "why")),)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_list_knows_the_headers_and_delimiters_of_exports(delimiter: str) -> None:
    header = delimiter.join(["\ufeffTransaction Hash", "Blockno", "DateTime (UTC)"])

    listed = read(header, delimiter.join([str(a_hash()), "7", "2026-11-20 10:00:00"]))

    assert listed.transactions == (ListedTransaction(2, a_hash(), Remarks(ATTEMPT)),)


def test_list_takes_what_holds_for_all_where_a_line_says_nothing_else() -> None:
    listed = read("hash,label,attempted_at", f"{a_hash(1)},own,2026-11-20 10:00", f"{a_hash(2)},,")

    first, second = listed.with_common(Remarks(A_MOMENT, "all", "why")).transactions

    assert first.remarks == Remarks(ATTEMPT, "own", "why")
    assert second.remarks == Remarks(A_MOMENT, "all", "why")


def test_list_keeps_the_first_of_a_hash_and_tells_the_others() -> None:
    listed = read("hash,label", f"{a_hash()},first", f"{a_hash()},second")

    assert [each.remarks.label for each in listed.transactions] == ["first"]
    assert [(each.line, each.remarks.label) for each in listed.repeated] == [(3, "second")]


@pytest.mark.parametrize(
    ("line", "text", "why"),
    [
        ("0x12,", "0x12", "has 2 hexadecimal digits; a transaction hash has 64"),
        ("about this,", "about this", "holds no transaction hash"),
        (f"{a_hash(7)} {a_hash(8)},", f"{a_hash(7)} {a_hash(8)}", "names several transactions"),
        (",2026-11-20 10:00", "", "holds no transaction hash"),
        ('"an unclosed quote', "an unclosed quote", "holds no transaction hash"),
    ],
)
def test_list_names_a_bad_line_and_goes_on(line: str, text: str, why: str) -> None:
    listed = read("hash,attempted_at", line, "", ",", str(a_hash()))

    assert [(each.line, each.text, each.why) for each in listed.wrong] == [(2, text, why)]
    assert listed.transactions == (ListedTransaction(5, a_hash()),)


def test_list_survives_a_field_longer_than_any_reader_takes() -> None:
    listed = read("hash", "x" * 200_000, str(a_hash()))

    assert [each.line for each in listed.wrong] == [2]
    assert [each.line for each in listed.transactions] == [3]


@pytest.mark.parametrize("header", ["hash,time,label,input", "input,label,time,hash"])
def test_line_with_such_a_field_is_tracked_and_says_what_it_lost(header: str) -> None:
    values = {"hash": a_hash(), "time": "2026-11-20 10:00", "label": "x", "input": "a" * 131_073}

    listed = read(header, ",".join(str(values[name]) for name in header.split(",")))

    remark = "without its other columns, since a cell has more than 131,072 characters"
    assert listed.transactions == (ListedTransaction(2, a_hash(), remark=remark),)
    assert listed.wrong == ()


def test_line_with_such_a_field_and_several_hashes_is_not_tracked() -> None:
    listed = read("hash,label,input", f"{a_hash(1)},{a_hash(2)},{'a' * 131_073}")

    assert [each.why for each in listed.wrong] == ["names several transactions"]
    assert listed.transactions == ()


@pytest.mark.parametrize(
    ("fields", "remark"),
    [
        ("soon", "without a time, since “soon” is not a time; write it as 2026-11-20T12:00:00Z"),
        (
            "3026-11-2 9:0",
            "without a time, since “3026-11-2 9:0” is not a time; write it as 2026-11-20T12:00:00Z",
        ),
        (f",{'x' * 81}", "its label has 81 characters, of which 80 are kept"),
        (f",,{'x' * 301}", "its note has 301 characters, of which 300 are kept"),
    ],
)
def test_field_that_cannot_be_used_costs_the_transaction_nothing_else(
    fields: str, remark: str
) -> None:
    listed = read("hash,attempted_at,label,note", f"{a_hash()},{fields}")

    (only,) = listed.transactions
    assert (only.tx_hash, only.remarks.attempted_at, only.remark) == (a_hash(), None, remark)
    assert (len(only.remarks.label) <= 80, len(only.remarks.note) <= 300) == (True, True)


def test_list_names_the_columns_that_mean_nothing() -> None:
    listed = read("hash,Amount,label,,Nonce", f"{a_hash()},1,x,y,2")

    assert listed.unused_columns == ("Amount", "Nonce")
    assert [each.remarks.label for each in listed.transactions] == ["x"]


def test_column_that_says_again_what_another_says_is_named_too() -> None:
    listed = read("hash,UnixTimestamp,DateTime (UTC)", f"{a_hash()},1763632800,2026-11-20 10:00")

    assert listed.unused_columns == ("UnixTimestamp",)
    assert [each.remarks.attempted_at for each in listed.transactions] == [ATTEMPT]


@pytest.mark.parametrize(
    ("date", "time"),
    [
        ("2026-11-20", "10:00"),
        ("20.11.2026", "11:00:00 +01:00"),
        ("Nov 20, 2026", "10:00 AM UTC"),
        ("", "2026-11-20 10:00"),
        ("2026-11-20 10:00", ""),
        ("2026-11-20", "2026-11-20 10:00"),
    ],
)
@pytest.mark.parametrize("header", ["hash;Date;Time", "hash;Time;Date"])
def test_date_and_time_of_day_in_two_columns_are_one_time(
    header: str, date: str, time: str
) -> None:
    values = {"hash": str(a_hash()), "Date": date, "Time": time}

    listed = read(header, ";".join(values[name] for name in header.split(";")))

    assert listed.transactions == (ListedTransaction(2, a_hash(), Remarks(ATTEMPT)),)
    assert listed.unused_columns == ()


@pytest.mark.parametrize(
    ("date", "time", "said"),
    [
        ("05/06/2026", "10:00", "“05/06/2026 10:00” has two meanings"),
        ("2026-11-20 00:00", "10:00", "“2026-11-20 00:00 10:00” is not a time"),
        ("2026-11-20", "", "“2026-11-20” has no time of day"),
        ("", "10:00", "“10:00” is not a time"),
    ],
)
def test_date_and_time_that_make_no_one_time_are_told(date: str, time: str, said: str) -> None:
    listed = read("hash,date,time", f"{a_hash()},{date},{time}")

    (only,) = listed.transactions
    assert only.remarks.attempted_at is None
    assert f"without a time, since {said}" in only.remark


def test_date_beside_a_whole_time_is_a_column_that_means_nothing() -> None:
    listed = read("hash,date,timestamp", f"{a_hash()},2026-11-19,2026-11-20 10:00")

    assert listed.transactions == (ListedTransaction(2, a_hash(), Remarks(ATTEMPT)),)
    assert listed.unused_columns == ("date",)


@pytest.mark.parametrize("above", ["sep=;", '"sep=;"', "", "\n\n"])
def test_list_finds_its_header_below_what_spreadsheets_write_above_it(above: str) -> None:
    listed = read(above, "Txn Hash;timestamp;label", f"{a_hash()};2026-11-20 10:00;payout")

    line = above.count("\n") + 3
    assert listed.transactions == (ListedTransaction(line, a_hash(), Remarks(ATTEMPT, "payout")),)
    assert listed.wrong == ()


def test_title_above_a_header_is_told_and_costs_no_time() -> None:
    listed = read("Payouts of November", "", "hash,timestamp", f"{a_hash()},2026-11-20 10:00")

    assert [(each.line, each.text) for each in listed.wrong] == [(1, "Payouts of November")]
    assert listed.transactions == (ListedTransaction(4, a_hash(), Remarks(ATTEMPT)),)


def test_header_below_a_hash_is_no_header() -> None:
    listed = read(str(a_hash(1)), "hash,label", f"{a_hash(2)},x")

    assert [each.remarks.label for each in listed.transactions] == ["", ""]


def test_line_ends_in_a_quoted_field_become_blanks() -> None:
    listed = read(
        "note,hash,timestamp",
        f'"first\nsecond\nthird",{a_hash(1)},2026-11-20 10:00',
        f"fourth,{a_hash(2)},",
    )

    assert listed.transactions == (
        ListedTransaction(2, a_hash(1), Remarks(ATTEMPT, note="first second third")),
        ListedTransaction(5, a_hash(2), Remarks(note="fourth")),
    )
    assert listed.wrong == ()


@pytest.mark.parametrize("label", ['5" pipe', '"open'])
def test_quote_that_somebody_forgot_takes_no_other_row_with_it(label: str) -> None:
    rows = [f"{a_hash(number)},{label if number % 2 else 'x'}" for number in range(60)]

    listed = read("hash,label", *rows)

    assert [each.tx_hash for each in listed.transactions] == [a_hash(at) for at in range(60)]
    assert listed.wrong == ()


def test_columns_that_mean_nothing_are_named_as_far_as_one_reads() -> None:
    assert in_words(["Amount", "Nonce"]) == "“Amount”, “Nonce”"
    assert in_words([str(number) for number in range(12)]).endswith("“9” and 2 more")


@given(st.text(), st.sampled_from(["", "hash\n", "hash;time\n"]))
def test_list_reads_any_text_without_an_error(text: str, header: str) -> None:
    listed = read_track_list(header + text, A_MOMENT)

    assert len({each.tx_hash for each in listed.transactions}) == len(listed.transactions)


def test_parts_of_a_list_hold_together_what_the_whole_does() -> None:
    rows = ["hash,label", *(f"{a_hash(number % 7)},{number}" for number in range(20)), "nothing"]
    text = "\r\n".join(rows)
    whole = read_track_list(text, A_MOMENT)

    parts = list(track_lists(text, A_MOMENT, 4))

    assert [len(each.transactions) + len(each.repeated) + len(each.wrong) for each in parts] == [
        *[4] * 5,
        1,
    ]
    assert sum((each.transactions for each in parts), ()) == whole.transactions
    assert sum((each.repeated for each in parts), ()) == whole.repeated
    assert sum((each.wrong for each in parts), ()) == whole.wrong


@pytest.mark.parametrize("text", ["", "\n", "a\n\nb\r\n", "a\rb", "a\x0bb\n\u2028", "\ufeffa"])
def test_wrong_lines_are_numbered_as_an_editor_does(text: str) -> None:
    listed = read_track_list(text, A_MOMENT)

    lines = text.removeprefix("\ufeff").splitlines()
    told = {each.line for each in listed.wrong}
    assert told == {number for number, line in enumerate(lines, start=1) if line.strip()}


def test_columns_say_who_looks_after_a_transaction_and_where_it_is_watched() -> None:
    [found] = read(
        "hash,case,assignee,Tags,chain id",
        f'{a_hash(1)},\'=17,Ada,"vip, #Payout",59144 1',
    ).transactions

    said = found.remarks
    assert (said.case_id, said.owner, said.tags) == ("=17", "Ada", "#payout #vip")
    assert found.network_ids == (59144, 1)
    assert not found.remark


def test_what_cannot_be_used_of_a_line_is_named_and_the_rest_is_taken() -> None:
    listed = read("hash,tags,network_id,label", f"{a_hash(1)},a!b,linea,mine", f"{a_hash(2)},,7,")

    first, second = listed.where_known({A_NETWORK}).transactions
    assert first.remarks.label == "mine"
    assert first.remark == (
        "without its tags, since “a!b” is not a tag: write letters, digits, - and _, at most 40, "
        "with blanks between tags; its network “linea” is not a chain id"
    )
    assert second.network_ids == ()
    assert second.remark == "without the network 7, which has no exclusion endpoint here"


def test_known_networks_of_a_line_stay() -> None:
    [found] = (
        read("hash,networks", f"{a_hash(1)},{A_NETWORK}").where_known({A_NETWORK}).transactions
    )

    assert (found.network_ids, found.remark) == ((A_NETWORK,), "")


def test_common_tags_that_are_too_many_are_left_out_with_a_remark() -> None:
    common = Remarks(tags=" ".join(f"#t{number}" for number in range(MOST_TAGS)))
    listed = read("hash,label", f"{a_hash(1)},of #night", f"{a_hash(2)},")

    [one, two] = listed.with_common(common).transactions
    assert (one.remarks.tags, one.remark) == ("", TAGS_LEFT_OUT)
    assert len(two.remarks.tags.split()) == MOST_TAGS


def test_common_tags_come_in_addition() -> None:
    listed = read("hash,tags,owner", f"{a_hash(1)},vip,Ada")

    [found] = listed.with_common(Remarks(owner="Bob", case_id="9", tags="#a")).transactions
    assert (found.remarks.tags, found.remarks.owner, found.remarks.case_id) == (
        "#a #vip",
        "Ada",
        "9",
    )


def test_line_that_is_too_long_for_a_header_is_none() -> None:
    listed = read_track_list("tx_hash," + "a," * 10_000 + f"\n{a_hash()}", A_MOMENT)

    assert listed.unused_columns == ()
    assert len(listed.transactions) == 1


def test_rows_of_nothing_are_passed_over() -> None:
    listed = read_track_list(f'tx_hash,label\n,\n"",""\n{a_hash()},Acme\n\n', A_MOMENT)

    assert [(each.line, each.remarks.label) for each in listed.transactions] == [(4, "Acme")]
    assert not listed.wrong
