"""Bodies of the management API: all that are under way take bounded memory together."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
import httpx
from starlette.applications import Starlette

from dashboard.web.api.endpoint import PREFIX
from dashboard.web.api.server import ManagementApi
from tests.unit.show.web.api_site import Site, plan
from tests.waiting import PATIENCE

SILENCES = f"{PREFIX}/silences"


def test_bodies_under_way_have_a_bound_together_which_ends_with_their_answers(site: Site) -> None:
    through = httpx.ASGITransport(ManagementApi(Starlette(), most_held=1_000))
    headers = site.token()
    statuses: dict[str, int] = {}

    async def several() -> None:
        has_begun, may_end = anyio.Event(), anyio.Event()

        async def slow_body() -> AsyncIterator[bytes]:
            yield b" " * 950
            has_begun.set()
            await may_end.wait()
            yield b"{"

        async with httpx.AsyncClient(
            transport=through, base_url="http://localhost", headers=headers
        ) as client:

            async def send_slowly() -> None:
                answer = await client.post(
                    SILENCES, content=slow_body(), headers={"Content-Type": "application/json"}
                )
                statuses["slow"] = answer.status_code

            with anyio.fail_after(PATIENCE):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(send_slowly)
                    await has_begun.wait()
                    refused = await client.post(SILENCES, json=plan())
                    again = await client.post(SILENCES, json=plan())
                    statuses["read"] = (await client.get(SILENCES)).status_code
                    may_end.set()
                statuses["later"] = (await client.post(SILENCES, json=plan())).status_code

        assert [each.status_code for each in (refused, again)] == [503, 503]
        assert refused.headers["Retry-After"] == "5"

    anyio.run(several)

    assert statuses == {"read": 200, "slow": 400, "later": 200}
