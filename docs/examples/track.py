"""Track transactions, and say of each what became of the wish.

Run `python track.py HASH…`. LINEWATCH_SERVER is where the pages are, LINEWATCH_TOKEN a token.
"""

import os
import sys
import uuid

import httpx

api = httpx.Client(
    base_url=f"{os.environ['LINEWATCH_SERVER']}/api/v1",
    headers={"Authorization": f"Bearer {os.environ['LINEWATCH_TOKEN']}"},
    timeout=30,
)
wish = {"hashes": sys.argv[1:], "label": "Case 17"}
again = {"Idempotency-Key": str(uuid.uuid4())}  # the same one if you have to send it again

answer = api.post("/tracked", json=wish, headers=again)
if answer.is_error:
    sys.exit(answer.json()["detail"])
for each in answer.json()["transactions"]:
    print(each["txHash"], each["result"])
