/**
 * The engine turns JSON text into its binary form by recursion: about 3,000 levels end the process. The scan has to see
 * strings as the engine does, which takes more than the standard allows (quotes of either kind, bare words). So outside
 * of double quotes nothing may stand that could open a string, an escape or a comment.
 */
export const JSON_DEPTH_MAX = 128;

/** Why a text cannot be stored as JSON, or `undefined`. */
export function jsonTextFault(bytes: Buffer): string | undefined {
  let depth = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE) {
      at = stringEnd(bytes, at + 1);
      continue;
    }
    const kind = BYTE_KINDS[byte];
    if (kind === FOREIGN)
      return `holds ${JSON.stringify(String.fromCharCode(byte))} outside of a string, which is not JSON`;
    if (kind === OPENING) depth += 1;
    else if (kind === CLOSING) depth -= 1;
    if (depth < 0) return 'closes more brackets than it opens, which is not JSON';
    if (depth > JSON_DEPTH_MAX) return `nests JSON more than ${JSON_DEPTH_MAX} levels deep`;
  }
  return undefined;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

const FOREIGN = 0;
const HARMLESS = 1;
const OPENING = 2;
const CLOSING = 3;

const BYTE_KINDS = byteKinds();

function byteKinds(): Uint8Array {
  const kinds = new Uint8Array(256).fill(FOREIGN);
  for (let byte = 0; byte < 128; byte += 1) {
    if (/[\w\s,:.+-]/.test(String.fromCharCode(byte))) kinds[byte] = HARMLESS;
  }
  for (const byte of Buffer.from('[{')) kinds[byte] = OPENING;
  for (const byte of Buffer.from(']}')) kinds[byte] = CLOSING;
  return kinds;
}

/** Where the closing quote stands, or the end of the text when there is none. */
function stringEnd(bytes: Buffer, from: number): number {
  for (let at = from; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) return at;
    if (byte === BACKSLASH) at += 1;
  }
  return bytes.length;
}
