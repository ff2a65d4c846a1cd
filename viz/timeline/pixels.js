// Draws more blocks than can be bars: each pixel is the mean of what falls on it, in the shade of its work.

const MIX_STEPS = 17; // from idle to busy all the time

// `spans` are the blocks of each lane that may be seen, as positions in `byLane`; an SM has `rows` rows of pixels.
export function drawPixels(context, panel, spans, view, top, rows, colours) {
  const columns = context.canvas.width, scale = columns / (view.to - view.from), slots = panel.slots_per_sm;
  const image = new ImageData(columns, panel.sm_count * rows), pixels = new Uint32Array(image.data.buffer);
  const busy = new Float32Array(columns), shaded = new Float32Array(columns), table = mixTable(colours);
  for (let row = 0; row < panel.sm_count * rows; row++) {
    const sm = Math.floor(row / rows), at = row % rows;
    const first = Math.floor((at * slots) / rows), end = Math.max(first + 1, Math.floor(((at + 1) * slots) / rows));
    if (at > 0 && Math.floor(((at - 1) * slots) / rows) === first) {
      pixels.copyWithin(row * columns, (row - 1) * columns, row * columns);
      continue;
    }
    busy.fill(0);
    shaded.fill(0);
    for (let slot = first; slot < end; slot++) {
      addLane(panel, spans[sm * slots + slot], view.from, scale, busy, shaded);
    }
    for (let x = 0, pixel = row * columns; x < columns; x++, pixel++) {
      const part = busy[x];
      const shade = part > 0 ? (shaded[x] / part + 0.5) | 0 : 0;
      pixels[pixel] = table[shade * MIX_STEPS + ((Math.min(part / (end - first), 1) * (MIX_STEPS - 1) + 0.5) | 0)];
    }
  }
  context.putImageData(image, 0, top);
}

function addLane({ byLane, start, end, shades }, [first, last], from, scale, busy, shaded) {
  const columns = busy.length;
  for (let at = first; at < last; at++) {
    const block = byLane[at], shade = shades[block];
    const left = Math.max((start[block] - from) * scale, 0), right = Math.min((end[block] - from) * scale, columns);
    const inside = Math.floor(left);
    if (right <= inside + 1) {
      if (right > left) {
        busy[inside] += right - left;
        shaded[inside] += (right - left) * shade;
      }
      continue;
    }
    busy[inside] += inside + 1 - left;
    shaded[inside] += (inside + 1 - left) * shade;
    const whole = Math.floor(right);
    for (let x = inside + 1; x < whole; x++) {
      busy[x] += 1;
      shaded[x] += shade;
    }
    if (whole < columns) {
      busy[whole] += right - whole;
      shaded[whole] += (right - whole) * shade;
    }
  }
}

// Each shade of work, from none of it to all of it over the ground, as pixels.
function mixTable({ rampRgb, pageRgb }) {
  const table = new Uint32Array(rampRgb.length * MIX_STEPS);
  rampRgb.forEach((rgb, shade) => {
    for (let step = 0; step < MIX_STEPS; step++) {
      const [r, g, b] = rgb.map((v, c) => Math.round(pageRgb[c] + ((v - pageRgb[c]) * step) / (MIX_STEPS - 1)));
      table[shade * MIX_STEPS + step] = (255 << 24) | (b << 16) | (g << 8) | r;
    }
  });
  return table;
}
