"""The names of the strings that `player.js` shows; the host looks each up in its own catalogue."""

TEXT_NAMES = (
    "onChip", "oneBlock", "nothingMoves", "shared", "registers",
    "ofBlock", "ofSm", "needs", "blockGets", "smHas", "row",
    "rescale", "moreRows", "notReplayed", "simplified",
    "read", "compute", "write", "atKey", "atQuery", "atPair",
    "scoresStored", "scoresNeverStored", "pairsDone",
    "visited", "partly", "skipped", "masked", "coming",
    "start", "back", "play", "pause", "on", "end", "speed", "wholeIn", "position", "scrub", "beforeStart",
    "bytesEach", "atStep", "endsAt", "ended", "noWidth", "switch", "shareDone",
    "clock", "bytesMoved", "tileSteps", "modelledTime", "timeModelled", "timeRule",
    "bytesSoFar", "algorithmic", "exact", "all", "wholeWalk", "agrees", "differs", "upToHere",
    "totals", "thisFrame", "save_svg", "save_png", "frameLine",
    "exactResult", "difference", "notice", "recomputed", "gradientsExact", "slim", "atSplit", "atHead",
    "letter_R", "letter_C", "letter_Tc", "letter_Tr", "letter_S", "letter_p", "letter_a", "letter_h",
    "letter_E",
)  # fmt: skip

# What these strings leave for the player to fill in.
TEXT_PLACEHOLDERS = (
    "walk", "q", "k", "head", "rows", "used", "limit", "done", "all", "step", "steps", "seconds",
    "difference", "bytes", "place", "share", "time", "name", "bandwidth", "rate",
    "read", "written", "unit", "queries", "keys", "head_dim", "query_rows", "key_rows",
)  # fmt: skip
