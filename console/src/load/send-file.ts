import { insertRows } from '../../../src/client/rows.ts';
import { createTable } from '../../../src/client/tables.ts';
import type { TablePath } from '../../../src/model/identifier.ts';
import { clientOf } from '../api.ts';
import type { Session } from '../session.ts';
import { convertFile } from './opened-file.ts';
import type { OpenedFile } from './opened-file.ts';
import { uploadFetch } from './upload-fetch.ts';

export type LoadMode = 'create' | 'append' | 'overwrite';

export interface LoadTarget {
  readonly table: TablePath;
  readonly mode: LoadMode;
}

export interface Progress {
  readonly words: string;
  readonly share: number | undefined;
}

export interface Loaded {
  readonly table: TablePath;
  readonly rows: number;
  readonly version: number | undefined;
}

interface Sending {
  readonly session: Session;
  readonly onProgress: (progress: Progress) => void;
  readonly signal: AbortSignal;
}

/** Reading is the first half of the bar, sending the second. */
export async function sendFile(opened: OpenedFile, { table, mode }: LoadTarget, sending: Sending): Promise<Loaded> {
  const { session, onProgress, signal } = sending;
  const onRead = (share: number): void => onProgress({ words: 'Reading the file', share: share / 2 });
  const { stream, rows } = await convertFile(opened, { onRead, signal });
  const onSent = (share: number): void =>
    onProgress(
      share < 1
        ? { words: 'Sending the rows', share: 0.5 + share / 2 }
        : { words: 'The server is writing', share: undefined },
    );
  const client = clientOf(session, uploadFetch(onSent));
  const reply =
    mode === 'append'
      ? await insertRows(client, table, stream, { signal })
      : await createTable(client, table, stream, { mode, signal });
  return { table, rows, version: reply.version };
}
