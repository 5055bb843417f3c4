import type { DataType } from '../../model/schema.ts';
import { formatByteLimit } from '../../model/value-text.ts';
import type { MessageContext } from '../format/flatbuffer.ts';
import type { DictionaryTypes } from '../schema/schema-reader.ts';

/** A dictionary batch as received, kept because every chunk repeats the dictionaries that its batches need. */
export interface DictionaryMessage {
  readonly id: number;
  readonly isDelta: boolean;
  /** Prefix and metadata. */
  readonly framed: Buffer;
  readonly body: Buffer;
  readonly decodedBytes: number;
}

/** One dictionary: its first batch and later deltas. */
interface Dictionary {
  readonly messages: DictionaryMessage[];
  decodedBytes: number;
  replayBytes: number;
}

/** The current dictionaries at a point of the stream. */
export class Dictionaries {
  /** The size of all current batches, including prefixes and metadata. */
  bytes = 0;
  readonly #types: DictionaryTypes;
  readonly #bytesMax: number;
  readonly #inForce = new Map<number, Dictionary>();

  constructor(types: DictionaryTypes, bytesMax: number) {
    this.#types = types;
    this.#bytesMax = bytesMax;
  }

  has(type: DataType): boolean {
    const id = this.#types.idOf.get(type);
    return id !== undefined && this.#inForce.has(id);
  }

  /** Returns the messages of the earlier dictionary that this one replaces. No chunk can contain both. */
  add(message: DictionaryMessage, context: MessageContext): readonly DictionaryMessage[] {
    const earlier = this.#inForce.get(message.id);
    if (message.isDelta && earlier === undefined) {
      context.refuse(`adds to the dictionary ${message.id}, which has not been sent`);
    }
    const replaced = message.isDelta ? [] : (earlier?.messages ?? []);
    const dictionary =
      message.isDelta && earlier !== undefined ? earlier : { messages: [], decodedBytes: 0, replayBytes: 0 };
    this.bytes += messageBytes(message);
    for (const each of replaced) this.bytes -= messageBytes(each);
    this.requireCapacity(this.bytes, context);
    append(dictionary, message);
    this.#inForce.set(message.id, dictionary);
    return replaced;
  }

  requireCapacity(bytes: number, context: MessageContext): void {
    if (bytes <= this.#bytesMax) return;
    const fault = `exceeds the limit of ${formatByteLimit(this.#bytesMax)} for all dictionaries`;
    context.refuse(fault, 'Send columns with many distinct values without a dictionary.');
  }

  messages(): DictionaryMessage[] {
    return [...this.#inForce.values()].flatMap(({ messages }) => messages);
  }

  decodedBytesOf(id: number): number {
    return this.#inForce.get(id)?.decodedBytes ?? 0;
  }

  /** The bytes that the engine decodes and copies to read all dictionaries again. */
  replayBytes(): number {
    let bytes = 0;
    for (const dictionary of this.#inForce.values()) bytes += dictionary.replayBytes;
    return bytes;
  }
}

export function messageBytes({ framed, body }: DictionaryMessage): number {
  return framed.length + body.length;
}

/** For every delta, the engine copies the whole previous dictionary. */
function append(dictionary: Dictionary, message: DictionaryMessage): void {
  dictionary.messages.push(message);
  dictionary.decodedBytes += message.decodedBytes;
  dictionary.replayBytes += dictionary.decodedBytes;
}
