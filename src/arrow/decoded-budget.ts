import type { ArrowLimits } from '../model/limits.ts';
import type { MessagePlace } from './message-place.ts';

/**
 * How many bytes the engine will have to make out of a stream. A few bytes can declare gigabytes: by compression, by
 * rows that take no room, by views of one text many times over.
 */
export class DecodedBudget {
  /** Of the stream so far, the message in hand included. */
  receivedBytes = 0;
  readonly #limits: ArrowLimits;
  #decodedBytes = 0;

  constructor(limits: ArrowLimits) {
    this.#limits = limits;
  }

  charge(bytes: number, place: MessagePlace): void {
    const { decodedBytesMax, decodedRatioMax, decodedFloorBytes } = this.#limits;
    this.#decodedBytes += bytes;
    if (this.#decodedBytes > decodedBytesMax) {
      place.refuse(
        `brings the stream to more than ${decodedBytesMax} bytes of decoded data`,
        'Send the rows in several requests.',
      );
    }
    const isBloated = this.#decodedBytes > this.receivedBytes * decodedRatioMax;
    if (isBloated && this.#decodedBytes > decodedFloorBytes) {
      place.refuse(
        `brings the stream to more than ${decodedRatioMax} times as much decoded data as was received`,
        'Send the rows with less compression, or in several requests.',
      );
    }
  }
}
