/** What a request wants to be known of its write before the engine commits it. */
export interface WriteIntent {
  /** Depends on the version that it meets, so that it shares no commit with others. */
  readonly isConditional: boolean;
  /** In the lane of the table, right before the engine's work. May refuse, or throw `AnsweredBefore`. */
  begin(versionBefore: number): Promise<void>;
  /** The engine has committed nothing. */
  fail(): void;
  /** The engine has failed, and has committed all the same. Gives what to throw instead: the success. */
  land(version: number): Promise<AnsweredBefore>;
}

/** What is remembered of a write that was committed. */
export interface PriorAnswer {
  readonly journalId: string;
  readonly version: number;
  readonly transactionId: string | undefined;
  /** Counts of rows and the like, under their names in the reply; none for a write whose answer a crash took. */
  readonly outcome: Readonly<Record<string, number>>;
}

/** Not a failure: the request is one that was carried out before, and gets the answer that it should have had. */
export class AnsweredBefore extends Error {
  readonly answer: PriorAnswer;

  constructor(answer: PriorAnswer) {
    super('The request was carried out before.');
    this.name = 'AnsweredBefore';
    this.answer = answer;
  }
}
