"""Read every stored rejection, part by part.

Run `python rejections.py`. LINEWATCH_SERVER is where the pages are, LINEWATCH_TOKEN a token.
"""

import os

import httpx

api = httpx.Client(
    base_url=f"{os.environ['LINEWATCH_SERVER']}/api/v1",
    headers={"Authorization": f"Bearer {os.environ['LINEWATCH_TOKEN']}"},
    timeout=30,
)
cursor = ""
while cursor is not None:
    answer = api.get("/rejections", params={"limit": 100, "cursor": cursor})
    part = answer.raise_for_status().json()
    for each in part["rejections"]:
        print(each["firstSeenAt"], each["txHash"], each["reason"]["module"])
    cursor = part["cursor"]
