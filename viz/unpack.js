// Takes apart what `pack_data` of packing.py made: JSON values, and raw columns laid over one copy of the bytes.
export function unpackData(packed) {
  const bytes = packed.slice();
  const base = 4 + new DataView(bytes.buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, base)));
  const data = header.plain;
  for (const [name, [start, length]] of Object.entries(header.columns)) {
    data[name] = bytes.subarray(base + start, base + start + length);
  }
  return data;
}
