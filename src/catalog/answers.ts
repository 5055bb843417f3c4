import { AnswerMarks } from './answer-marks.ts';
import type { AnswerMark } from './answer-marks.ts';

/** The answer to a write, while it goes out. */
export interface GoingAnswer {
  /** All of it was handed to the operating system. */
  sent(): void;
  /** It turned out not to have arrived. */
  lost(): void;
}

const REMEMBERED_MAX = 4096;

/**
 * Marks answers as they go out. Between the mark and the answer there is always a moment in which a kill leaves a doubt.
 * A request that was answered before, word for word, is one that its caller sends again on purpose: its mark comes before
 * the answer, so that in doubt the next one is carried out. The mark of any other comes after its answer, so that in
 * doubt the next one, most probably the same request again, is not.
 */
export class Answers {
  readonly #marks: AnswerMarks;
  readonly #answered = new Set<string>();

  private constructor(marks: AnswerMarks) {
    this.#marks = marks;
    for (const { digest } of marks.found) this.#remember(digest);
  }

  static open(path: string): Answers {
    return new Answers(AnswerMarks.open(path));
  }

  /** What the process before had answered last. */
  get found(): ReadonlySet<string> {
    return new Set(this.#marks.found.map(({ id }) => id));
  }

  send(mark: AnswerMark): GoingAnswer {
    let slot = this.#answered.has(mark.digest) ? this.#marks.set(mark) : undefined;
    return {
      sent: () => {
        slot ??= this.#marks.set(mark);
        this.#remember(mark.digest);
      },
      lost: () => {
        if (slot !== undefined) this.#marks.clear(slot);
      },
    };
  }

  close(): void {
    this.#marks.close();
  }

  #remember(digest: string): void {
    this.#answered.delete(digest);
    this.#answered.add(digest);
    if (this.#answered.size <= REMEMBERED_MAX) return;
    for (const oldest of this.#answered) {
      this.#answered.delete(oldest);
      return;
    }
  }
}
