# What is known of a transaction: sh look-up.sh HASH
# LINEWATCH_SERVER is where the pages are, LINEWATCH_TOKEN a token with the role viewer.
# The token goes to curl on its standard input, so that no list of processes shows it.

printf 'header = "Authorization: Bearer %s"\n' "$LINEWATCH_TOKEN" |
  curl --silent --show-error --fail-with-body --config - \
    --header "Content-Type: application/json" \
    --data "{\"hashes\": [\"$1\"]}" \
    "$LINEWATCH_SERVER/api/v1/lookups"
