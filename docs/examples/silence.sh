# Silence a module during a deployment, once however often this is sent: sh silence.sh
# LINEWATCH_TOKEN takes the role operator.

printf 'header = "Authorization: Bearer %s"\n' "$LINEWATCH_TOKEN" |
  curl --silent --show-error --fail-with-body --config - \
    --header "Content-Type: application/json" \
    --header "Idempotency-Key: deployment-$(date -u +%F)" \
    --data "{\"matchers\": [\"module=HUB\"], \"reason\": \"deployment\",
             \"endsAt\": \"$(date -u +%F)T23:59:59.999Z\"}" \
    "$LINEWATCH_SERVER/api/v1/silences"
