import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../errors/service-error.ts';
import { checkNames, parseNamespacePath, parseTablePath, quoteForMessage, toTablePath } from '../model/identifier.ts';
import type { NamespacePath, TablePath } from '../model/identifier.ts';
import type { Operation } from '../operations/operation.ts';

interface Addressed {
  readonly operation: Pick<Operation, 'identifier'>;
  readonly identifier: string;
  readonly delimiter: string;
  readonly bodyId: unknown;
}

/** The table that the address names; a body that names one too must mean the same. */
export function readTablePath(addressed: Addressed): TablePath {
  const { identifier, delimiter, bodyId, operation } = addressed;
  const fromAddress =
    operation.identifier === 'name' ? toTablePath([identifier], delimiter) : parseTablePath(identifier, delimiter);
  if (!isNames(bodyId)) return fromAddress;
  const fromBody = toTablePath(bodyId, delimiter);
  requireSame(fromBody.join(delimiter), identifier);
  return fromBody;
}

/** The root is written as the delimiter alone, or, where the router would take that for a dot of the path, left out. */
export function readNamespacePath({ identifier, delimiter, bodyId }: Addressed): NamespacePath {
  const fromAddress = identifier === '' ? [] : parseNamespacePath(identifier, delimiter);
  if (!isNames(bodyId)) return fromAddress;
  const fromBody = checkNames(bodyId, delimiter);
  if (fromBody.length === 0 && fromAddress.length === 0) return [];
  requireSame(fromBody.join(delimiter), identifier);
  return fromBody;
}

const PREFIX_HEADER = 'x-lancedb-database-prefix';

/** A client whose address of the database goes on with a path works in the namespace of that path, as in a database. */
export function readPrefix({ headers }: IncomingMessage, delimiter: string): NamespacePath {
  const header = headers[PREFIX_HEADER];
  if (typeof header !== 'string') return [];
  return checkNames(
    header.split('/').filter((name) => name !== ''),
    delimiter,
  );
}

/** Puts what the caller's identifier means below the prefix of its request. */
export function belowPrefix(prefix: NamespacePath, [first, ...rest]: TablePath): TablePath {
  const [top, ...below] = [...prefix, first, ...rest];
  return [top ?? first, ...below];
}

function isNames(bodyId: unknown): bodyId is string[] {
  return Array.isArray(bodyId) && bodyId.every((name) => typeof name === 'string');
}

function requireSame(joined: string, identifier: string): void {
  // The Rust namespace client form-encodes its path, so that a space in a name arrives as a plus sign.
  if (joined === identifier || joined === identifier.replaceAll('+', ' ')) return;
  throw new ServiceError(
    'InvalidInput',
    `The id in the body, ${quoteForMessage(joined)}, is not the one in the address.`,
    { hint: 'Leave the id out of the body, or let the two agree.' },
  );
}
