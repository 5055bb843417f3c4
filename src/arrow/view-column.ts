/** A view is a length, then either the text itself (up to 12 bytes) or a prefix and the place of the text. */
export const VIEW_BYTES = 16;

/** The bytes that all views of a column together stand for. */
export function viewedBytes(views: Buffer): number {
  let bytes = 0;
  for (let at = 0; at + VIEW_BYTES <= views.length; at += VIEW_BYTES) bytes += views.readUInt32LE(at);
  return bytes;
}
