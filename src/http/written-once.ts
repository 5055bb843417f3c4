import { createHash } from 'node:crypto';
import type { Hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../errors/service-error.ts';
import { AnsweredBefore } from '../model/write-intent.ts';
import type { Operation, OperationRequest, Reply } from '../operations/operation.ts';
import type { Services } from '../operations/services.ts';

/** A request that writes rows. */
export interface WriteRequest {
  readonly operation: Operation;
  readonly message: IncomingMessage;
  readonly request: OperationRequest;
  /** Of the bytes of an Arrow body, as far as they have been read. */
  readonly hash: () => Hash | undefined;
}

export interface AnsweredWrite {
  readonly reply: Reply;
  /** To be called right before the reply goes out; what it gives, right after. */
  readonly onSend: () => () => void;
}

/** Carries a write out, unless the very same request was carried out before and its sender has not heard of it. */
export async function answerWrite(written: WriteRequest, services: Services): Promise<AnsweredWrite> {
  const { operation, request } = written;
  const { caller, requestId, signal } = request;
  const intent = await services.intents.open({
    operation: operation.id,
    caller: caller.id,
    requestId,
    key: readKey(request.header('idempotency-key')),
    expectedVersion: readExpectedVersion(request.header('if-match')),
    digest: () => digestRequest(written),
    signal,
  });
  try {
    if (operation.body.kind !== 'arrow') await intent.refuseAnswered();
    const reply = await operation.run({ ...request, intent }, services);
    return { reply, onSend: () => intent.answer() };
  } catch (error) {
    if (error instanceof AnsweredBefore) {
      const { answer } = error;
      return { reply: toReply(answer), onSend: () => intent.answer(answer.journalId) };
    }
    intent.leave();
    throw error;
  }
}

/** Whoever sets a condition must not be told of a success that did not heed it. */
export function refuseCondition({ id, permission }: Operation, { header }: Pick<OperationRequest, 'header'>): void {
  if (permission === 'see' || permission === 'read' || header('if-match') === undefined) return;
  throw new ServiceError('InvalidInput', `The operation ${id} does not look at If-Match.`, {
    hint: 'Updates, inserts, merges and deletes of rows do.',
  });
}

function toReply({ version, transactionId, outcome }: AnsweredBefore['answer']): Reply {
  const recorded = transactionId === undefined ? {} : { transaction_id: transactionId };
  return { kind: 'object', body: { ...outcome, version, ...recorded }, headers: { 'idempotency-replayed': 'true' } };
}

/** Two requests with one digest are the same, as far as anybody can tell from what was sent. */
function digestRequest({ operation, message, request, hash }: WriteRequest): string {
  const content = operation.body.kind === 'arrow' ? hash()?.copy().digest('hex') : JSON.stringify(request.body);
  const parts = [request.caller.id, request.database?.id, operation.id, message.url, content];
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url');
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
