"""The one home of the product's colours and type: each colour is named by what it means."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours by meaning. A tensor's `*_text` is its colour where it is written rather than filled."""

    name: str
    query: str
    query_text: str
    key: str
    key_text: str
    value: str
    value_text: str
    output: str
    output_text: str
    scores: str
    scores_text: str
    scores_visited: str
    statistics: str
    statistics_text: str
    query_label: str  # a label on a tile filled with `query`; labels of other tensors use `tile_label`
    tile_label: str
    statistics_label: str
    read: str
    write: str
    hbm: str
    hbm_edge: str
    hbm_text: str
    chip: str
    chip_edge: str
    chip_text: str
    page: str
    surface: str
    line: str
    ink: str
    ink_2: str
    ink_3: str
    correct: str
    failed: str
    code_line: str
    other_series: str  # a rival's line in a chart of speed; ours is ink
    work_low: str  # amount of work in a block: one ramp of the score hue
    work_mid: str
    work_high: str


LIGHT = Theme(
    name="light",
    query="#0072B2",
    query_text="#00629B",
    key="#E08E00",
    key_text="#8F5400",
    value="#C2659A",
    value_text="#9A3B71",
    output="#009E73",
    output_text="#006B4E",
    scores="#E8D53A",
    scores_text="#655900",
    scores_visited="#EFE7A8",
    statistics="#4A5560",
    statistics_text="#4F5965",
    query_label="#FFFFFF",
    tile_label="#14181D",
    statistics_label="#FFFFFF",
    read="#3F5872",
    write="#BF3B00",
    hbm="#E9F0F8",
    hbm_edge="#8FA9C4",
    hbm_text="#34536F",
    chip="#FBF3E2",
    chip_edge="#CDAE6B",
    chip_text="#6B4E12",
    page="#F8F9FA",
    surface="#FFFFFF",
    line="#D8DDE3",
    ink="#14181D",
    ink_2="#454E59",
    ink_3="#626C78",
    correct="#006B4E",
    failed="#B3261E",
    code_line="#FFF1B8",
    other_series="#6A7683",
    work_low="#FAF5D0",
    work_mid="#D6BE28",
    work_high="#5C5006",
)

DARK = Theme(
    name="dark",
    query="#56B0F0",
    query_text="#7CC4F7",
    key="#F0A63A",
    key_text="#F4B860",
    value="#E08DBB",
    value_text="#EBA6CB",
    output="#2FC497",
    output_text="#5AD6B0",
    scores="#F0E05A",
    scores_text="#F0E05A",
    scores_visited="#5C5626",
    statistics="#DDE4EA",
    statistics_text="#B9C2CC",
    query_label="#14181D",
    tile_label="#14181D",
    statistics_label="#14181D",
    read="#9DB9D4",
    write="#FF8C5A",
    hbm="#14212F",
    hbm_edge="#47647F",
    hbm_text="#A9C6E2",
    chip="#241E13",
    chip_edge="#7A6536",
    chip_text="#E4C98D",
    page="#0E1216",
    surface="#161B21",
    line="#2D3640",
    ink="#EEF2F6",
    ink_2="#B9C2CC",
    ink_3="#939EAA",
    correct="#5AD6B0",
    failed="#FF8A80",
    code_line="#4A4318",
    other_series="#939EAA",
    work_low="#FAF5D0",
    work_mid="#D6BE28",
    work_high="#5C5006",
)

THEMES = {theme.name: theme for theme in (LIGHT, DARK)}

FONT = (
    'Inter, system-ui, -apple-system, "Segoe UI", '
    '"Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei", sans-serif'
)
MONO = '"JetBrains Mono", ui-monospace, SFMono-Regular, Menlo, Consolas, monospace'


def css_variables(theme: Theme) -> str:
    """CSS custom properties of a theme, `--fa-query: #0072B2;` and so on, for players and page styles."""
    colours = (
        f"--fa-{name.replace('_', '-')}: {value};" for name, value in asdict(theme).items() if name != "name"
    )
    return " ".join((*colours, f"--fa-font: {FONT};", f"--fa-mono: {MONO};"))
