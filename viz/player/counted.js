// What a GPU's counters saw of a walk, row by row under its exact count, and why they differ.
import { htmlNode } from "./svg.js";

export function createCounted(parent, counted, texts) {
  if (!counted) return;
  const part = htmlNode(parent, "div", "counted");
  if (counted.rows.length) {
    htmlNode(part, "h3", "", counted.title);
    htmlNode(part, "p", "form", counted.where);
    const table = htmlNode(part, "div", "counts");
    for (const text of ["", texts.read, texts.write, ""]) htmlNode(table, "span", "column", text);
    for (const [label, read, written, source] of counted.rows) {
      htmlNode(table, "b", "", label);
      htmlNode(table, "span", "figure", read);
      htmlNode(table, "span", "figure", written);
      htmlNode(table, "span", "provenance", source);
    }
  }
  for (const note of counted.notes) htmlNode(part, "p", "note", note);
}
