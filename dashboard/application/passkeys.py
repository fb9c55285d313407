"""What browsers need for passkeys, and what their answers prove (W3C WebAuthn)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

import msgspec
from webauthn import (
    base64url_to_bytes,
    generate_authentication_options,
    generate_registration_options,
    options_to_json,
    verify_authentication_response,
    verify_registration_response,
)
from webauthn.helpers.exceptions import WebAuthnException
from webauthn.helpers.structs import (
    AuthenticatorSelectionCriteria,
    PublicKeyCredentialDescriptor,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

from dashboard.domain.people.access import digest
from dashboard.domain.people.sign_in import Site
from dashboard.errors import InputError
from dashboard.store.access.factors import Passkey
from dashboard.store.access.people import Person

_VERIFIED = UserVerificationRequirement.REQUIRED


def request_options(site: Site, token: str) -> str:
    """Return what a browser needs to ask for any passkey of a site."""
    options = generate_authentication_options(
        rp_id=site.host, challenge=token.encode(), user_verification=_VERIFIED
    )
    return options_to_json(options)


def creation_options(site: Site, token: str, person: Person, known: Sequence[Passkey]) -> str:
    """Return what a browser needs to create a passkey that identifies its owner."""
    options = generate_registration_options(
        rp_id=site.host,
        rp_name="Linewatch",
        user_name=person.name,
        user_id=digest(f"{person.person_id} {person.created_at.isoformat()}"),
        challenge=token.encode(),
        authenticator_selection=AuthenticatorSelectionCriteria(
            resident_key=ResidentKeyRequirement.REQUIRED, user_verification=_VERIFIED
        ),
        exclude_credentials=[PublicKeyCredentialDescriptor(each.credential_id) for each in known],
    )
    return options_to_json(options)


class _Response(msgspec.Struct, rename="camel"):
    client_data_json: str = msgspec.field(name="clientDataJSON")


class _Answer(msgspec.Struct, rename="camel"):
    raw_id: str
    response: _Response


class _ClientData(msgspec.Struct):
    challenge: str


def read_answer(answer: str) -> tuple[bytes, str]:
    """Return the passkey and the token in a browser's answer; neither is verified."""
    with _refusing():
        given = msgspec.json.decode(answer, type=_Answer)
        client = base64url_to_bytes(given.response.client_data_json)
        token = base64url_to_bytes(msgspec.json.decode(client, type=_ClientData).challenge)
        return base64url_to_bytes(given.raw_id), token.decode("ascii")


def new_passkey(site: Site, token: str, answer: str, name: str, at: datetime) -> Passkey:
    """Verify that a passkey was created for this site and token; return it without an id."""
    with _refusing():
        made = verify_registration_response(
            credential=answer,
            expected_challenge=token.encode(),
            expected_rp_id=site.host,
            expected_origin=site.origin,
            require_user_verification=True,
        )
    key = made.credential_public_key
    return Passkey(0, made.credential_id, name, key, made.sign_count, at)


def count_use(site: Site, token: str, answer: str, passkey: Passkey) -> int:
    """Verify that a passkey signed this token for this site; return its number of uses."""
    with _refusing():
        return verify_authentication_response(
            credential=answer,
            expected_challenge=token.encode(),
            expected_rp_id=site.host,
            expected_origin=site.origin,
            credential_public_key=passkey.public_key,
            credential_current_sign_count=passkey.sign_count,
            require_user_verification=True,
        ).new_sign_count


@contextmanager
def _refusing() -> Iterator[None]:
    """Turn every error of the libraries into InputError: anybody can send such text."""
    try:
        yield
    except (WebAuthnException, ValueError, RecursionError):
        raise InputError("the passkey was not accepted: try again, or sign in otherwise") from None
