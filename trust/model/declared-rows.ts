/** The number of rows that the record batches of a stream declare in their headers, without reading any data. */
export function declaredRows(stream: Buffer): number {
  let rows = 0;
  for (let at = 0; at + 8 <= stream.length;) {
    const isNew = stream.readUInt32LE(at) === 0xffffffff;
    const start = at + (isNew ? 8 : 4);
    const length = stream.readUInt32LE(isNew ? at + 4 : at);
    if (length === 0) break;
    const message = readTable(stream, start + stream.readUInt32LE(start));
    const header = message(2);
    const isBatch = stream[message(1) ?? -1] === 3;
    if (isBatch && header !== undefined) {
      const place = readTable(stream, header + stream.readUInt32LE(header))(0);
      rows += place === undefined ? 0 : Number(stream.readBigInt64LE(place));
    }
    const body = message(3);
    at = start + length + (body === undefined ? 0 : Number(stream.readBigInt64LE(body)));
  }
  return rows;
}

/** Returns the position of a field in a flatbuffer table, by slot. */
function readTable(bytes: Buffer, table: number): (slot: number) => number | undefined {
  const vtable = table - bytes.readInt32LE(table);
  const size = bytes.readUInt16LE(vtable);
  return (slot) => {
    const entry = 4 + 2 * slot;
    const offset = entry + 2 <= size ? bytes.readUInt16LE(vtable + entry) : 0;
    return offset === 0 ? undefined : table + offset;
  };
}
