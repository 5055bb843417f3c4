import { ServiceError } from '../errors/service-error.ts';
import { parseTablePath, quoteForMessage, toTablePath } from '../model/identifier.ts';
import type { TablePath } from '../model/identifier.ts';

interface Addressed {
  readonly identifier: string | undefined;
}

/** The table that the address names; a body that names one too must mean the same. */
export function readTablePath(addressed: Addressed, delimiter: string, bodyId: unknown): TablePath {
  const identifier = addressed.identifier ?? '';
  const fromAddress = parseTablePath(identifier, delimiter);
  if (!Array.isArray(bodyId)) return fromAddress;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The shape says that `id` is an array of strings.
  const fromBody = toTablePath(bodyId as string[], delimiter);
  const joined = fromBody.join(delimiter);
  // The Rust namespace client form-encodes its path, so that a space in a name arrives as a plus sign.
  if (joined === identifier || joined === identifier.replaceAll('+', ' ')) return fromBody;
  throw new ServiceError(
    'InvalidInput',
    `The id in the body, ${quoteForMessage(joined)}, is not the one in the address.`,
    {
      hint: 'Leave the id out of the body, or let the two agree.',
    },
  );
}

export function readNewTablePath(addressed: Addressed, delimiter: string, kind: 'path' | 'name'): TablePath {
  const identifier = addressed.identifier ?? '';
  return kind === 'name' ? toTablePath([identifier], delimiter) : parseTablePath(identifier, delimiter);
}
