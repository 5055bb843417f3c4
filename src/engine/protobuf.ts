const VARINT = 0;
const EIGHT_BYTES = 1;
const LENGTH_DELIMITED = 2;
const FOUR_BYTES = 5;

/** The fields of a protobuf message: numbers, and bytes as they are. Of a repeated one, the last. */
export function readMessage(bytes: Uint8Array): ReadonlyMap<number, bigint | Uint8Array> {
  const fields = new Map<number, bigint | Uint8Array>();
  const reader = new Reader(bytes);
  while (!reader.isAtEnd) {
    const tag = reader.varint();
    const field = Number(tag >> 3n);
    switch (Number(tag & 7n)) {
      case VARINT:
        fields.set(field, reader.varint());
        break;
      case LENGTH_DELIMITED:
        fields.set(field, reader.take(Number(reader.varint())));
        break;
      case EIGHT_BYTES:
        reader.take(8);
        break;
      case FOUR_BYTES:
        reader.take(4);
        break;
      default:
        throw notMessage();
    }
  }
  return fields;
}

const VARINT_BYTES_MAX = 10;

class Reader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  varint(): bigint {
    let value = 0n;
    for (let index = 0; index < VARINT_BYTES_MAX; index += 1) {
      const byte = this.#bytes[this.#at];
      if (byte === undefined) throw notMessage();
      this.#at += 1;
      value |= BigInt(byte & 0x7f) << BigInt(7 * index);
      if (byte < 0x80) return value;
    }
    throw notMessage();
  }

  take(length: number): Uint8Array {
    const end = this.#at + length;
    if (end > this.#bytes.length) throw notMessage();
    const taken = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return taken;
  }
}

function notMessage(): Error {
  return new Error('The bytes are no protobuf message.');
}
