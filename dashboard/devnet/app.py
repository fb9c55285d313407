"""Devnet over HTTP: JSON-RPC 2.0 as POST to the root, single calls and batches."""

from __future__ import annotations

from typing import Final

from msgspec import UNSET
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from dashboard.devnet.chain import Chain
from dashboard.devnet.methods import Methods
from dashboard.devnet.node import Node
from dashboard.domain.clock import Clock
from dashboard.errors import InputError, WireError
from dashboard.logs import get_logger
from dashboard.wire import jsonrpc
from dashboard.wire.jsonrpc import ErrorReply, RpcError

LARGEST_BODY: Final = 1_000_000
LARGEST_BATCH: Final = 1000

_REFUSED: Final = -32000
_log = get_logger(__name__)


def build_app(chain: Chain, clock: Clock) -> ASGIApp:
    """Return the app of a devnet."""
    methods = Methods(Node(chain, clock))

    async def post(request: Request) -> Response:
        try:
            body = await _read(request)
        except ClientDisconnect:
            return Response()  # the client has left
        if body is None:
            error = RpcError.invalid_request(f"a body may hold {LARGEST_BODY} bytes")
            return _json(jsonrpc.error_reply(jsonrpc.NULL_ID, error), status=413)
        answer = answer_body(methods, body)
        return Response(status_code=204) if answer is None else _json(answer)

    return Starlette(routes=[Route("/", post, methods=["POST"])])


def answer_body(methods: Methods, body: bytes) -> bytes | None:
    """Answer one HTTP body; None where it asks for no reply (notifications only)."""
    message = jsonrpc.parse_message(body, LARGEST_BATCH)
    replies = [_answer(methods, item) for item in message.items]
    written = [reply for reply in replies if reply is not None]
    if not written:
        return None
    return jsonrpc.batch_reply(written) if message.is_batch else written[0]


def _answer(methods: Methods, item: jsonrpc.Request | ErrorReply) -> bytes | None:
    if isinstance(item, ErrorReply):
        return jsonrpc.error_reply(item.id, item.error)
    outcome = _outcome(methods, item)
    if item.id is UNSET:
        return None
    if isinstance(outcome, RpcError):
        return jsonrpc.error_reply(item.id, outcome)
    return jsonrpc.result_reply(item.id, outcome)


def _outcome(methods: Methods, request: jsonrpc.Request) -> bytes | RpcError:
    """Run one call; an error is returned, so that the other calls of a batch go on."""
    method = methods.by_name.get(request.method)
    if method is None:
        return RpcError.method_not_found(request.method)
    params = [] if request.params is UNSET else request.params
    try:
        if not isinstance(params, list):
            raise WireError("params belong in a list")
        return method(params)
    except WireError as error:
        return RpcError.invalid_params(str(error))
    except InputError as error:
        return RpcError(_REFUSED, str(error))
    except Exception:  # noqa: BLE001 - one broken answer must not end the node
        _log.exception("A call failed unexpectedly", method=request.method)
        return RpcError.internal_error()


async def _read(request: Request) -> bytes | None:
    """Return the body, or None as soon as it is too large."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LARGEST_BODY:
            return None
    return body


def _json(body: bytes, status: int = 200) -> Response:
    return Response(body, status_code=status, media_type="application/json")
