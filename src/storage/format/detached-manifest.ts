import { DATA_FILE, DELETION_FILE, FRAGMENT, INDEX, INDICES_FIELD, OVERLAY_DATA_FILE } from './fragments.ts';
import { BASE_PATHS_FIELD, BASE_PATHS_FLAG, readManifest, readSection } from './manifest.ts';
import { replaceMessage, withLength } from './next-manifest.ts';
import { encodeBytes, encodeNumber, readMessage, splitFields } from './protobuf.ts';

/** Of `Manifest` in Lance's table.proto. */
const MANIFEST = { fragments: 2, indexSection: 6, readerFlags: 9, writerFlags: 10, branch: 20 } as const;

/** Turns the manifest of a branch into that of a table whose own folder contains all files. */
export function encodeDetachedManifest(file: Buffer): Buffer {
  const manifest = readManifest(file);
  const sections = manifest.has(MANIFEST.indexSection)
    ? withLength(rewrite(readSection(file, manifest.number(MANIFEST.indexSection)), { [INDICES_FIELD]: dropIndexBase }))
    : Buffer.alloc(0);
  return replaceMessage({ file }, sections, (message, sectionsStart) =>
    Buffer.concat([
      rewrite(message, {
        [MANIFEST.fragments]: detachFragment,
        [BASE_PATHS_FIELD]: DROP,
        [MANIFEST.branch]: DROP,
        [MANIFEST.indexSection]: DROP,
        [MANIFEST.readerFlags]: DROP,
        [MANIFEST.writerFlags]: DROP,
      }),
      ...(sections.length === 0 ? [] : [encodeNumber(MANIFEST.indexSection, sectionsStart)]),
      ...[MANIFEST.readerFlags, MANIFEST.writerFlags].map((field) =>
        encodeNumber(field, Number(manifest.bigint(field) & ~BASE_PATHS_FLAG)),
      ),
    ]),
  );
}

const DROP = 'drop';
type Change = typeof DROP | ((value: Uint8Array) => Buffer);

/** A copy of a message without some fields, or with other contents for them. */
function rewrite(message: Uint8Array, changes: Readonly<Record<number, Change>>): Buffer {
  const fields = splitFields(message).flatMap(({ field, bytes }) => {
    const change = changes[field];
    if (change === undefined) return [bytes];
    return change === DROP ? [] : [encodeBytes(field, change(readMessage(bytes).bytes(field) ?? new Uint8Array()))];
  });
  return Buffer.concat(fields);
}

const dropFileBase = (file: Uint8Array): Buffer => rewrite(file, { [DATA_FILE.base]: DROP });
const dropIndexBase = (index: Uint8Array): Buffer => rewrite(index, { [INDEX.base]: DROP });
const detachFragment = (fragment: Uint8Array): Buffer =>
  rewrite(fragment, {
    [FRAGMENT.dataFiles]: dropFileBase,
    [FRAGMENT.overlays]: (overlay) => rewrite(overlay, { [OVERLAY_DATA_FILE]: dropFileBase }),
    [FRAGMENT.deletionFile]: (deletion) => rewrite(deletion, { [DELETION_FILE.base]: DROP }),
  });
