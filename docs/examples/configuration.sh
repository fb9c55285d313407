# Keep all that people configured in a file, and ask what taking it would change: sh configuration.sh
# LINEWATCH_TOKEN takes the role admin; LINEWATCH_SERVER is where the pages are.

file=$(mktemp)
linewatch config export > "$file"
linewatch config import --dry-run "$file"
rm "$file"
