import { createHash } from 'node:crypto';
import type { Hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../errors/service-error.ts';
import type { Caller } from '../model/access.ts';
import type { Database } from '../model/table.ts';
import type { Operation, RequestFacts } from '../operations/operation.ts';

/** What a request is recognised by. */
export interface WriteSource {
  readonly operation: Operation;
  readonly message: IncomingMessage;
  readonly header: RequestFacts['header'];
  readonly requestId: string;
  readonly caller: Caller;
  readonly database: Database | undefined;
  /** A table that was dropped and made again is another one. */
  readonly tableId: string | undefined;
  readonly body: Readonly<Record<string, unknown>>;
  readonly signal: () => AbortSignal;
  /** Of the bytes of an Arrow body, as far as they have been read. */
  readonly hash: () => Hash | undefined;
}

export function readWriteRequest(source: WriteSource): RequestFacts['write'] {
  const { operation, header, requestId, caller, signal } = source;
  let digest: string | undefined;
  return {
    operation: operation.id,
    caller: caller.id,
    requestId,
    key: isWrite(operation) ? readKey(header('idempotency-key')) : undefined,
    expectedVersion: operation.usesPipeline === true ? readExpectedVersion(header('if-match')) : undefined,
    digest: () => (digest ??= digestRequest(source)),
    signal,
  };
}

/** Whoever sets a condition must not be told of a success that did not heed it. */
export function refuseCondition({ id, permission, usesPipeline }: Operation, header: RequestFacts['header']): void {
  if (usesPipeline === true || !isWrite({ permission }) || header('if-match') === undefined) return;
  throw new ServiceError('InvalidInput', `The operation ${id} does not look at If-Match.`, {
    hint: 'Writes of rows, changes of columns and of metadata, and restores do.',
  });
}

function isWrite({ permission }: Pick<Operation, 'permission'>): boolean {
  return permission !== 'see' && permission !== 'read';
}

/** Two requests with one digest are the same, as far as anybody can tell from what was sent. */
function digestRequest({ operation, message, header, caller, database, tableId, body, hash }: WriteSource): string {
  const content = operation.body.kind === 'arrow' ? hashOf(hash()) : JSON.stringify(body);
  const parts = [caller.id, database?.id, tableId, operation.id, message.url, header('if-match'), content];
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url');
}

function hashOf(hash: Hash | undefined): string {
  if (hash === undefined) throw new Error('The body of the request was not hashed.');
  return hash.copy().digest('hex');
}

const KEY_CHARACTERS_MAX = 255;

function readKey(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  if (text.length > 0 && text.length <= KEY_CHARACTERS_MAX && /^[\u0020-\u007e]+$/.test(text)) return text;
  throw new ServiceError('InvalidInput', `The Idempotency-Key is not 1 to ${KEY_CHARACTERS_MAX} printable characters.`);
}

/** A version in quotes, as an entity tag is written, or without. */
function readExpectedVersion(text: string | undefined): number | undefined {
  if (text === undefined || text.trim() === '*') return undefined;
  const digits = /^"?(\d{1,15})"?$/.exec(text.trim())?.[1];
  if (digits !== undefined) return Number(digits);
  throw new ServiceError('InvalidInput', 'If-Match is not a version of the table.', {
    hint: 'Send it as If-Match: "7".',
  });
}
