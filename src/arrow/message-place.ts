import { ServiceError } from '../errors/service-error.ts';

/** Which message of a stream is being read, so that every refusal says where the fault stands. */
export class MessagePlace {
  /** Begins a sentence. It becomes more exact once the message's kind is known: "Record batch 3". */
  name: string;
  readonly offset: number;

  constructor(name: string, offset: number) {
    this.name = name;
    this.offset = offset;
  }

  refuse(fault: string, hint?: string): never {
    const sentence = `${this.name}, at byte ${this.offset} of the Arrow stream, ${fault}.`;
    throw new ServiceError('InvalidInput', sentence, hint === undefined ? {} : { hint });
  }
}
