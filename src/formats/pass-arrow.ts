import { notReadable } from './arrow-fault.ts';
import { readMessages } from './arrow-messages.ts';
import type { ArrowMessage } from './arrow-messages.ts';
import type { Input } from './input.ts';
import type { Part } from './read-parts.ts';

/**
 * An Arrow file or stream as it is, in streams of about `bytes`: each with the schema, the dictionaries so far and some
 * of the batches. Nothing is decoded, so that compressed buffers and all types of Arrow pass.
 */
export async function* passArrow(input: Input, bounds: { readonly bytes: number }): AsyncGenerator<Part> {
  let schema: ArrowMessage | undefined;
  const dictionaries: ArrowMessage[] = [];
  let batches: ArrowMessage[] = [];
  let parts = 0;
  const close = (head: ArrowMessage): Part => {
    const part = toPart([head, ...dictionaries, ...batches]);
    batches = [];
    parts += 1;
    return part;
  };
  for await (const message of checkedMessages(input)) {
    if (message.kind === 'schema') schema ??= message;
    else if (schema === undefined) throw notReadable(new Error('no schema'));
    // Batches that came before a dictionary was changed are of the one before.
    if (message.kind === 'dictionary' && batches.length > 0 && schema !== undefined) yield close(schema);
    if (message.kind === 'dictionary') dictionaries.push(message);
    if (message.kind === 'batch') batches.push(message);
    if (schema !== undefined && batches.length > 0 && sizeOf(batches) >= bounds.bytes) yield close(schema);
  }
  if (schema === undefined) throw notReadable(new Error('no schema'));
  if (batches.length > 0 || parts === 0) yield close(schema);
}

async function* checkedMessages(input: Input): AsyncGenerator<ArrowMessage> {
  try {
    yield* readMessages(input);
  } catch (error) {
    throw notReadable(error);
  }
}

const END_OF_STREAM = Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0);

function toPart(messages: readonly ArrowMessage[]): Part {
  const bytes = new Uint8Array(sizeOf(messages) + END_OF_STREAM.length);
  let at = 0;
  for (const message of messages) {
    bytes.set(message.bytes, at);
    at += message.bytes.length;
  }
  bytes.set(END_OF_STREAM, at);
  const rows = messages.reduce((sum, message) => sum + message.rows, 0);
  return { bytes, rows, endByte: Math.max(...messages.map(({ endByte }) => endByte)) };
}

function sizeOf(messages: readonly ArrowMessage[]): number {
  return messages.reduce((sum, { bytes }) => sum + bytes.length, 0);
}
