import type { Schema } from '../model/schema.ts';
import type { AppendedRows } from './append-commit.ts';
import type { Committed, MultiCommitPlan } from './commit-plan.ts';
import { retryConflicts, toWriteState } from './commit-target.ts';
import type { WriteTarget } from './commit-target.ts';
import { engineCall, isPanic } from './engine-errors.ts';
import type { NativeTable } from './native.ts';
import { readSchema } from './open-table.ts';
import type { EngineParts } from './parts.ts';
import { requireFit } from './schema-fit.ts';
import { writeChunks } from '../arrow/chunk-source.ts';
import type { ChunkSource } from '../arrow/chunk-source.ts';
import { RowsMissing, malformedBatch } from './write-stream.ts';

export interface LongAppendData {
  /** More than one when the rows came in several streams. */
  readonly schemas: readonly Schema[];
  readonly source: ChunkSource;
}

interface Counted {
  readonly version: number;
  readonly rows: number;
}

/** Adds the rows of a stream of many chunks, one commit for each. */
export class LongAppend implements MultiCommitPlan<AppendedRows> {
  readonly #parts: EngineParts;
  readonly #target: WriteTarget;
  readonly #data: LongAppendData;
  #native: NativeTable | undefined;
  #before: Counted = { version: 0, rows: 0 };

  constructor(parts: EngineParts, target: WriteTarget, data: LongAppendData) {
    this.#parts = parts;
    this.#target = target;
    this.#data = data;
  }

  async prepare(): Promise<{ readonly baseVersion: number }> {
    const native = await this.#parts.tables.openAlone(toWriteState(this.#target));
    this.#native = native;
    const schema = await readSchema(native);
    for (const each of this.#data.schemas) requireFit(each, schema);
    this.#before = await count(native);
    return { baseVersion: this.#before.version };
  }

  async write(): Promise<Committed<AppendedRows>> {
    const native = this.#native;
    if (native === undefined) throw new Error('The append was not prepared.');
    try {
      return await this.#append(native);
    } catch (error) {
      // Nothing but the bytes of a batch makes the engine panic here.
      throw isPanic(error) ? malformedBatch(error) : error;
    }
  }

  close(): void {
    this.#native?.close();
  }

  async #append(native: NativeTable): Promise<Committed<AppendedRows>> {
    const { writeAttemptsMax } = this.#parts.limits;
    let { version } = this.#before;
    let commits = 0;
    const rows = await writeChunks(this.#data.source, async ({ file, rows: chunkRows }) => {
      if (chunkRows === 0) return;
      ({ version } = await retryConflicts(writeAttemptsMax, async () =>
        engineCall(async () => native.add(file, 'append')),
      ));
      commits += 1;
    });
    const after = await count(native);
    const stored = after.rows - this.#before.rows;
    // Another process that has written in between makes the difference say nothing.
    if (after.version === this.#before.version + commits && stored !== rows) throw new RowsMissing(stored, rows);
    return { version, outcome: { rows } };
  }
}

async function count(native: NativeTable): Promise<Counted> {
  const version = await engineCall(async () => native.version());
  return { version, rows: await engineCall(async () => native.countRows()) };
}
