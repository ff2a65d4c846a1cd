"""The names of the strings that `pick.js`, `rule.js` and `inspector.js` show."""

INSPECTOR_TEXT_NAMES = (
    "title", "close", "row", "pickHbm", "pickChip", "keysOf", "queriesOf", "sees", "seesAll", "full",
    "partly", "skipped", "hidden", "noKey", "keysUpTo", "keysFromTo",
)  # fmt: skip

# What these strings leave for the script to fill in.
INSPECTOR_PLACEHOLDERS = (
    "letter", "first", "last", "tile", "first_query", "last_query", "first_key", "last_key",
    "seen_by_first", "seen_by_last",
)  # fmt: skip
