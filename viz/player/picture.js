// The frame as a picture that stands by itself: SVG with its styles written out, or PNG drawn from it.
import { htmlNode, setAll, svgNode } from "./svg.js";

const PAD = 16;
const LINE = 20;
const PNG_SCALE = 2;
const INHERITED = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity",
  "font-family", "font-size", "font-weight", "text-anchor",
];

/** Buttons that save the frame; `frame()` gives its panels as [{svg, title, caption}] and a line that says where we are. */
export function createPictureButtons(parent, texts, frame) {
  const row = htmlNode(parent, "p", "pictures");
  htmlNode(row, "span", "", texts.thisFrame);
  const button = (kind, save) => {
    const node = htmlNode(row, "button", "", kind.toUpperCase());
    setAll(node, { type: "button", "data-picture": kind, title: texts[`save_${kind}`], "aria-label": texts[`save_${kind}`] });
    node.addEventListener("click", async () => download(await save(pictureOf(row, frame())), `${frame().name}.${kind}`));
  };
  button("svg", svgBlob);
  button("png", pngBlob);
}

/** All panels beside one another with their titles and captions, and a line about the numbers under them. */
function pictureOf(near, { panels, line }) {
  const shown = panels.filter(({ svg }) => svg.getBoundingClientRect().width > 0);
  const sizes = shown.map(({ svg }) => svg.viewBox.baseVal);
  const ink = getComputedStyle(near);
  const wrapped = shown.map(({ caption }, index) => wrap(caption, sizes[index].width, `14px ${ink.fontFamily}`));
  const captionLines = Math.max(...wrapped.map((lines) => lines.length));
  const tallest = Math.max(...sizes.map(({ height }) => height));
  const width = sizes.reduce((sum, size) => sum + size.width + PAD, PAD);
  const height = PAD + 28 + tallest + LINE * (captionLines + 2);
  const picture = svgNode(document.createDocumentFragment(), "svg", {
    xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}`,
  });
  const style = (name) => ink.getPropertyValue(name).trim();
  svgNode(picture, "rect", { width, height, fill: style("--fa-surface") });
  const write = (x, y, text, size, weight, fill) =>
    svgNode(picture, "text", { x, y, fill, "font-family": ink.fontFamily, "font-size": size, "font-weight": weight }, text);
  let x = PAD;
  shown.forEach(({ svg, title }, index) => {
    write(x, PAD + 16, title, 18, 650, style("--fa-ink"));
    const copy = picture.appendChild(svg.cloneNode(true));
    setAll(copy, { x, y: PAD + 28, width: sizes[index].width, height: sizes[index].height });
    copyStyles(svg, copy);
    wrapped[index].forEach((text, row) => write(x, PAD + 28 + tallest + LINE * (row + 1), text, 14, 400, style("--fa-ink")));
    x += sizes[index].width + PAD;
  });
  write(PAD, height - LINE / 2, line, 12, 400, style("--fa-ink-2"));
  return picture;
}

/** Writes what style sheets say into attributes, so that the picture needs none; what is not shown is left out. */
function copyStyles(node, copy, around = null) {
  const style = getComputedStyle(node);
  copy.removeAttribute("class");
  copy.removeAttribute("style");
  for (const name of INHERITED) {
    const value = style.getPropertyValue(name);
    if (value !== around?.getPropertyValue(name)) copy.setAttribute(name, plainColour(value));
    else copy.removeAttribute(name);
  }
  if (style.opacity !== "1") copy.setAttribute("opacity", style.opacity);
  const children = [...copy.children];
  [...node.children].forEach((child, index) => {
    if (getComputedStyle(child).display === "none") children[index].remove();
    else copyStyles(child, children[index], style);
  });
}

/** Colours that were mixed as rgb(), which other programs read too. */
function plainColour(value) {
  return value.replace(/color\(srgb ([\d.e-]+) ([\d.e-]+) ([\d.e-]+)(?: \/ ([\d.]+))?\)/g, (_, red, green, blue, alpha) => {
    const parts = [red, green, blue].map((part) => Math.round(255 * part));
    return alpha ? `rgba(${parts.join(", ")}, ${alpha})` : `rgb(${parts.join(", ")})`;
  });
}

/** Lines of at most `width` px; Chinese may break after any character. */
function wrap(text, width, font) {
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = font;
  const lines = [""];
  for (const word of text.split(/(?<=\s)|(?<=[\u3000-\u9fff\uff00-\uffef])/)) {
    if (lines.at(-1) && pen.measureText(lines.at(-1) + word.trimEnd()).width > width) lines.push("");
    lines[lines.length - 1] += word;
  }
  return lines.map((line) => line.trimEnd());
}

async function svgBlob(picture) {
  return new Blob([new XMLSerializer().serializeToString(picture)], { type: "image/svg+xml" });
}

async function pngBlob(picture) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(picture))}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = PNG_SCALE * picture.width.baseVal.value;
  canvas.height = PNG_SCALE * picture.height.baseVal.value;
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

function download(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
