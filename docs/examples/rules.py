"""Change one rule, unless somebody else changed the rules meanwhile.

Run `python rules.py`. LINEWATCH_SERVER is where the pages are, LINEWATCH_TOKEN a token.
"""

import os
import sys

import httpx

api = httpx.Client(
    base_url=f"{os.environ['LINEWATCH_SERVER']}/api/v1",
    headers={"Authorization": f"Bearer {os.environ['LINEWATCH_TOKEN']}"},
    timeout=30,
)
read = api.get("/rules").raise_for_status()
document = read.json()
name, rule = next(iter(document["rules"].items()))
rule["severity"] = "critical"

answer = api.put("/rules", json=document, headers={"If-Match": read.headers["etag"]})
if answer.is_error:
    sys.exit(answer.json()["detail"])
print(f"{name} is {answer.json()['rules'][name]['severity']} now")
