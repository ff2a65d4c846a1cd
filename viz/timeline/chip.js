// The floor plan of the SMs: which block is resident where at a time, in the shade of its work.

import { element, setText } from "./dom.js";
import { RAMP_STEPS, partOf, residentAt, shadeOf } from "./runs.js";
import { fill } from "./words.js";

const DIGIT_PX = 6.5; // of a count in a cell
const NARROWEST_PX = 24; // of an SM's cell
const WIDEST_PX = 64;
const FRAMED_PX = 18; // what an SM has inside the frame of a GPC
const DARKEST_UNDER_BLACK = 26 / 32; // of the ramp: labels are white above

export function buildChip(box, data, panels) {
  const title = box.querySelector("h3"), provenance = box.querySelector(".fa-note");
  const run = element("select", "fa-run");
  run.dataset.part = "run";
  run.setAttribute("aria-label", data.text.run);
  panels.forEach((panel, i) => run.append(new Option(panel.name, i)));
  provenance.replaceWith(run);
  const busy = element("p", "fa-chip-busy", box);
  const plan = element("div", "fa-plan", box);
  const note = element("p", "fa-note", box);
  let shown = -1, cells = [];

  function showRun(index) {
    shown = index;
    run.value = String(index);
    cells = buildPlan(plan, panels[index], data.text);
    note.textContent = fill(data.text.number, panels[index]);
  }

  return {
    run,
    plan,
    slotAt: (node) => node?.closest?.(".fa-slot")?.dataset,
    show(index, time, marked, colours, format) {
      if (index !== shown) showRun(index);
      const panel = panels[index];
      setText(title, fill(data.text.chip, { time: format.text(time) }));
      const lanes = new Set(marked.map((block) => panel.lane[block]));
      let busySms = 0;
      cells.forEach((slots, sm) => {
        const blocks = slots.map((_, slot) => residentAt(panel, sm * panel.slots_per_sm + slot, time));
        busySms += blocks.some((block) => block >= 0);
        slots.forEach((slot, i) => showSlot(slot, panel, blocks[i], lanes.has(sm * panel.slots_per_sm + i), colours));
      });
      const sorted = panel.gpc_of_sm.length ? data.text.by_gpc : data.text.by_id;
      const counts = { busy: busySms, idle: panel.sm_count - busySms, time: format.text(time), sorted };
      setText(busy, fill(data.text.chip_busy, counts));
    },
  };
}

function showSlot(slot, panel, block, marked, colours) {
  slot.classList.toggle("fa-marked", marked);
  const name = block < 0 ? "" : String(block);
  if (slot.dataset.block === name && slot.colours === colours) return;
  slot.dataset.block = name;
  slot.colours = colours;
  slot.classList.toggle("fa-idle", block < 0);
  const shade = block < 0 ? 0 : shadeOf(panel, block);
  slot.style.background = block < 0 ? "" : colours.ramp[shade];
  slot.style.color = shade / RAMP_STEPS > DARKEST_UNDER_BLACK ? "white" : "black";
  slot.textContent = block < 0 ? "" : panel.work[partOf(panel, block)];
}

function buildPlan(plan, panel, text) {
  plan.replaceChildren();
  const framed = panel.gpc_of_sm.length > 0;
  const digits = String(Math.max(...panel.work)).length;
  const needed = panel.slots_per_sm * (digits * DIGIT_PX + 2);
  plan.classList.toggle("fa-quiet", needed > (framed ? FRAMED_PX : WIDEST_PX));
  plan.classList.toggle("fa-framed", framed);
  plan.style.setProperty("--fa-cell", `${needed > WIDEST_PX ? NARROWEST_PX : Math.max(needed, NARROWEST_PX)}px`);
  const sms = Array.from({ length: panel.sm_count }, (_, sm) => sm);
  const cells = [];
  for (const [gpc, members] of framed ? membersOf(panel.gpc_of_sm) : [[null, sms]]) {
    const frame = framed ? buildFrame(plan, gpc, members.length, text) : plan;
    for (const sm of members) cells[sm] = buildCell(frame, sm, panel);
  }
  return cells;
}

function membersOf(gpcOfSm) {
  const members = new Map();
  gpcOfSm.forEach((gpc, sm) => members.set(gpc, [...(members.get(gpc) ?? []), sm]));
  return [...members].sort(([a], [b]) => (a < 0) - (b < 0) || a - b); // those that are not known come last
}

function buildFrame(plan, gpc, sms, text) {
  const frame = element("div", "fa-gpc", plan);
  const head = element("p", "fa-gpc-head", frame);
  element("b", "", head, gpc < 0 ? text.gpc_unknown : fill(text.gpc, { gpc }));
  element("span", "", head, fill(text.sms, { sms }));
  return element("div", "fa-gpc-sms", frame);
}

function buildCell(parent, sm, panel) {
  const cell = element("div", "fa-sm", parent);
  return Array.from({ length: panel.slots_per_sm }, (_, slot) => {
    const node = element("span", "fa-slot", cell);
    Object.assign(node.dataset, { sm, lane: sm * panel.slots_per_sm + slot });
    return node;
  });
}
