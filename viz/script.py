"""Links the JavaScript modules of an asset into one, so that a host can load it as a single script."""

from __future__ import annotations

import re
from pathlib import Path

IMPORT = re.compile(r'^import\s*\{([^}]*)\}\s*from\s*"\./([\w-]+)\.js";[ \t]*\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|const|let|class) +(\w+))", re.MULTILINE)
MODULE_SYNTAX = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)


def single_script(entry: Path) -> str:
    """The module `entry` with all it imports, as one module that exports what `entry` does.

    Modules share a folder and write `import { name } from "./module.js";`, `export` before a declaration.
    Anything else raises ValueError, and so does a circle of imports.
    """
    parts: dict[str, str] = {}
    _link_imports(entry, parts, on_the_way=())
    text = entry.read_text(encoding="utf-8")
    return "\n".join((*parts.values(), IMPORT.sub(_bind, text)))


def _link_imports(module: Path, parts: dict[str, str], on_the_way: tuple[str, ...]) -> None:
    for _, name in IMPORT.findall(module.read_text(encoding="utf-8")):
        if name in (*on_the_way, module.stem):
            raise ValueError(
                f"imports must not go in a circle, got {' -> '.join((*on_the_way, module.stem, name))}"
            )
        if name not in parts:
            imported = module.with_name(f"{name}.js")
            _link_imports(imported, parts, (*on_the_way, module.stem))
            parts[name] = _as_object(imported)


def _as_object(module: Path) -> str:
    # In a function of its own, so that two modules may use one name for different things.
    text = IMPORT.sub(_bind, module.read_text(encoding="utf-8"))
    exported = ", ".join(EXPORT.findall(text))
    body = EXPORT.sub("", text)
    foreign = MODULE_SYNTAX.search(body)
    if foreign:
        raise ValueError(
            f'{module.name} must import as `import {{ name }} from "./module.js";`, got {foreign[0]}'
        )
    return f"const {_variable(module.stem)} = (() => {{\n{body}\nreturn {{ {exported} }};\n}})();"


def _bind(statement: re.Match[str]) -> str:
    names = re.sub(r"\s+as\s+", ": ", statement[1])
    return f"const {{{names}}} = {_variable(statement[2])};\n"


def _variable(module_name: str) -> str:
    return f"module_{module_name.replace('-', '_')}"
