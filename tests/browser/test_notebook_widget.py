"""The widget's script in a browser, with a stand-in for the model of a notebook's front end."""

from __future__ import annotations

from base64 import b64encode

from playwright.sync_api import Locator, Page, expect

from notebooks.tile_player import TilePlayer
from simulator import AttentionShape, TileShape, trace_flash_v1, trace_flash_v2

FRONT_END = """async ([script, style, payload]) => {
  const bytes = Uint8Array.from(atob(payload), (letter) => letter.charCodeAt(0));
  const held = { payload: new DataView(bytes.buffer) };
  window.saved = [];
  const model = {
    get: (name) => held[name],
    set: (name, value) => (held[name] = value),
    save_changes: () => window.saved.push([held.clock, held.place]),
    send: (question) => (window.asked = question),
    on: (name, act) => (window.heard = { ...window.heard, [name]: act }), off() {},
  };
  document.head.append(Object.assign(document.createElement("style"), { textContent: style }));
  const module = await import(URL.createObjectURL(new Blob([script], { type: "text/javascript" })));
  if (Object.keys(module).join() !== "default") throw new Error(`exports ${Object.keys(module)}`);
  const cell = document.body.appendChild(document.createElement("div"));
  module.default.render({ model, el: cell });
  document.body.insertAdjacentHTML("beforeend", '<p class="tile scores" tabindex="0">another output</p>');
}"""


def show_widget(page: Page) -> Locator:
    shape, tile = AttentionShape(300, 300, 64), TileShape(64, 64)
    player = TilePlayer(trace_flash_v1(shape, tile), trace_flash_v2(shape, tile))
    page.goto("about:blank")
    parts = [str(player._esm), str(player._css), b64encode(player.payload).decode()]
    page.evaluate(FRONT_END, parts)
    shown = page.locator(".fa-player")
    expect(shown).to_be_visible()
    return shown


def test_the_widget_draws_plays_and_tells_the_kernel_where_it_stands(page: Page) -> None:
    player = show_widget(page)
    expect(player.locator("h2").filter(has_text="forward")).to_have_text(["V1 forward", "V2 forward"])
    player.locator("[data-action=end]").click()
    end = int(player.get_by_role("slider").get_attribute("aria-valuemax") or -1)
    expect(player).to_have_attribute("data-position", str(end))
    page.wait_for_function("end => window.saved.some(([, place]) => place === end)", arg=end)
    player.locator(".clock select").select_option("time")
    page.wait_for_function("() => window.saved.some(([clock]) => clock === 'time')")


def test_a_tile_asks_the_kernel_and_shows_what_it_answers(page: Page) -> None:
    player = show_widget(page)
    player.locator("[data-action=on]").click()
    player.locator(".pick-surface").first.click(position={"x": 100, "y": 100})
    question = page.wait_for_function("() => window.asked").json_value()
    told = {"id": question["id"], "tensor": 0, "title": "told", "kind": "", "place": "", "address": ""}
    told |= {"absent": "by the kernel", "goTo": None, "heading": "", "rows": None, "row": 0}
    told |= {"lines": [], "notes": []}
    page.evaluate("told => window.heard['msg:custom'](told)", told)
    expect(player.locator(".inspector .absent")).to_have_text("by the kernel")


def test_keys_act_only_inside_the_widget(page: Page) -> None:
    player = show_widget(page)
    page.locator("p.tile").focus()
    page.keyboard.press("PageDown")
    page.wait_for_timeout(400)
    expect(player).to_have_attribute("data-position", "0")
    player.get_by_role("slider").focus()
    page.keyboard.press("PageDown")
    expect(player).not_to_have_attribute("data-position", "0")


def test_the_style_does_not_reach_other_outputs(page: Page) -> None:
    show_widget(page)
    other = page.locator("p.tile").evaluate("node => getComputedStyle(node).getPropertyValue('--fill')")
    inside = page.locator(".fa-player .query").first.evaluate(
        "node => getComputedStyle(node).getPropertyValue('--fill')"
    )
    assert (other, bool(inside)) == ("", True)
