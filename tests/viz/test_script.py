from pathlib import Path

import pytest

from viz.script import single_script


def write(folder: Path, **modules: str) -> Path:
    for name, text in modules.items():
        (folder / f"{name}.js").write_text(text, encoding="utf-8")
    return folder / "entry.js"


def test_a_module_without_imports_stays_as_it_is(tmp_path: Path) -> None:
    text = "export function render(root) {}\n"
    assert single_script(write(tmp_path, entry=text)) == text


def test_a_module_comes_once_and_before_those_that_import_it(tmp_path: Path) -> None:
    entry = write(
        tmp_path,
        entry='import { a } from "./a.js";\nimport { shared } from "./base.js";\nexport const c = a;\n',
        a='import { shared } from "./base.js";\nexport const a = shared;\n',
        base="const hidden = 1;\nexport const shared = hidden;\n",
    )
    script = single_script(entry)
    assert script.count("const hidden") == 1
    assert script.index("module_base = ") < script.index("module_a = ") < script.index("export const c")


def test_only_what_the_entry_exports_is_exported(tmp_path: Path) -> None:
    entry = write(
        tmp_path, entry='import { a as b } from "./a.js";\nexport const c = b;\n', a="export const a = 1;\n"
    )
    script = single_script(entry)
    assert script.count("export ") == 1
    assert "const { a: b } = module_a;" in script
    assert "import " not in script


def test_other_module_syntax_is_refused(tmp_path: Path) -> None:
    entry = write(
        tmp_path, entry='import { a } from "./a.js";\n', a='import a from "elsewhere";\nexport const b = a;\n'
    )
    with pytest.raises(ValueError, match=r"a\.js must import as .*, got import a from"):
        single_script(entry)


def test_a_circle_of_imports_is_refused(tmp_path: Path) -> None:
    a, b = (
        'import { x } from "./b.js";\nexport const y = x;\n',
        'import { y } from "./a.js";\nexport const x = y;\n',
    )
    with pytest.raises(ValueError, match="entry -> a -> b -> a"):
        single_script(write(tmp_path, entry='import { y } from "./a.js";\n', a=a, b=b))
