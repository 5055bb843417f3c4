import type { DataType } from '../../model/schema.ts';
import type { MessageContext } from '../format/flatbuffer.ts';
import type { DictionaryTypes } from '../schema/schema-reader.ts';

/** A dictionary batch as it came, kept because every chunk has to bring its dictionaries along. */
export interface DictionaryMessage {
  readonly id: number;
  readonly isDelta: boolean;
  /** Prefix and metadata. */
  readonly framed: Buffer;
  readonly body: Buffer;
  readonly decodedBytes: number;
}

/** One dictionary: its first batch and the deltas since. */
interface Dictionary {
  readonly messages: DictionaryMessage[];
  bytes: number;
  decodedBytes: number;
  replayBytes: number;
}

/** The dictionaries in force at a point of the stream. */
export class Dictionaries {
  readonly #types: DictionaryTypes;
  readonly #bytesMax: number;
  readonly #inForce = new Map<number, Dictionary>();
  #bytes = 0;

  constructor(types: DictionaryTypes, bytesMax: number) {
    this.#types = types;
    this.#bytesMax = bytesMax;
  }

  /** All batches in force, prefixes and metadata included. */
  get bytes(): number {
    return this.#bytes;
  }

  hasDictionary(type: DataType): boolean {
    const id = this.#types.idOf.get(type);
    return id !== undefined && this.#inForce.has(id);
  }

  /** Says whether the message takes the place of an earlier dictionary, so that no chunk can hold both. */
  add(message: DictionaryMessage, place: MessageContext): boolean {
    const earlier = this.#inForce.get(message.id);
    if (message.isDelta && earlier === undefined) {
      place.refuse(`adds to the dictionary ${message.id}, which has not been sent`);
    }
    const dictionary = message.isDelta && earlier !== undefined ? earlier : newDictionary();
    this.#bytes += messageBytes(message) - (dictionary === earlier ? 0 : (earlier?.bytes ?? 0));
    this.requireRoom(this.#bytes, place);
    append(dictionary, message);
    this.#inForce.set(message.id, dictionary);
    return dictionary !== earlier && earlier !== undefined;
  }

  requireRoom(bytes: number, place: MessageContext): void {
    if (bytes <= this.#bytesMax) return;
    place.refuse(
      `brings the dictionaries to more than ${this.#bytesMax} bytes`,
      'Send columns with so many different values plain.',
    );
  }

  *messages(): Generator<DictionaryMessage> {
    for (const dictionary of this.#inForce.values()) yield* dictionary.messages;
  }

  decodedBytesOf(id: number): number {
    return this.#inForce.get(id)?.decodedBytes ?? 0;
  }

  /** What the engine decodes and copies to read all dictionaries anew. */
  replayBytes(): number {
    let bytes = 0;
    for (const dictionary of this.#inForce.values()) bytes += dictionary.replayBytes;
    return bytes;
  }
}

export function messageBytes({ framed, body }: DictionaryMessage): number {
  return framed.length + body.length;
}

function newDictionary(): Dictionary {
  return { messages: [], bytes: 0, decodedBytes: 0, replayBytes: 0 };
}

/** With every delta the engine copies the dictionary as it was before. */
function append(dictionary: Dictionary, message: DictionaryMessage): void {
  dictionary.messages.push(message);
  dictionary.bytes += messageBytes(message);
  dictionary.decodedBytes += message.decodedBytes;
  dictionary.replayBytes += dictionary.decodedBytes;
}
