import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../errors/service-error.ts';
import { placeLocation } from '../model/table.ts';
import type { Place } from '../model/table.ts';
import { isRemote } from './connections.ts';
import { manifestName } from './manifest-name.ts';

/**
 * Refuses a version whose manifest names folders beside the table's own, as the engine's shallow clones do: whoever could
 * register such a table could read any other by it. Where the storage is no folder, manifests cannot be looked at.
 */
export async function refuseForeignFiles(place: Place, version: number): Promise<void> {
  if (isRemote(place.root)) return;
  const manifest = await readManifest(join(placeLocation(place), '_versions'), version);
  if (!hasBasePaths(manifest)) return;
  throw new ServiceError('InvalidInput', 'The table at the location refers to files outside of its directory.', {
    hint: 'Copy the rows to a table of its own.',
  });
}

async function readManifest(folder: string, version: number): Promise<Buffer> {
  try {
    return await readFile(join(folder, manifestName(version)));
  } catch {
    // Old tables name their manifests by the version alone.
    return readFile(join(folder, `${version}.manifest`));
  }
}

/** At the end of the file: where the message begins, two numbers of two bytes, and four letters. */
const FOOTER_BYTES = 16;
const LENGTH_BYTES = 4;
/** `Manifest.base_paths` of Lance's table.proto. */
const BASE_PATHS_FIELD = 18n;

function hasBasePaths(manifest: Buffer): boolean {
  const start = Number(manifest.readBigUInt64LE(manifest.length - FOOTER_BYTES));
  const length = manifest.readUInt32LE(start);
  return listFields(manifest.subarray(start + LENGTH_BYTES, start + LENGTH_BYTES + length)).has(BASE_PATHS_FIELD);
}

/** The numbers of the fields of a protobuf message. https://protobuf.dev/programming-guides/encoding/ */
function listFields(message: Buffer): ReadonlySet<bigint> {
  const fields = new Set<bigint>();
  for (let offset = 0; offset < message.length;) {
    const tag = readVarint(message, offset);
    fields.add(tag.value >> 3n);
    offset = skipField(message, tag.end, Number(tag.value & 7n));
  }
  return fields;
}

function skipField(message: Buffer, offset: number, wireType: number): number {
  switch (wireType) {
    case 0:
      return readVarint(message, offset).end;
    case 1:
      return offset + 8;
    case 2: {
      const { value, end } = readVarint(message, offset);
      return end + Number(value);
    }
    case 5:
      return offset + 4;
    default:
      throw new Error(`The manifest has a field of the unknown wire type ${wireType}.`);
  }
}

function readVarint(message: Buffer, offset: number): { readonly value: bigint; readonly end: number } {
  let value = 0n;
  for (let index = offset, shift = 0n; ; index += 1, shift += 7n) {
    const byte = message[index];
    if (byte === undefined) throw new Error('The manifest ends inside of a number.');
    value |= BigInt(byte & 127) << shift;
    if (byte < 128) return { value, end: index + 1 };
  }
}
