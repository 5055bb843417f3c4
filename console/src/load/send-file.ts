import { insertRows } from '../../../src/client/rows.ts';
import { createTable } from '../../../src/client/tables.ts';
import type { TablePath } from '../../../src/model/identifier.ts';
import { clientOf } from '../api.ts';
import { formatBytes, formatCountOf } from '../parts/format.ts';
import type { Session } from '../session.ts';
import { convertFile, isVectorType } from './opened-file.ts';
import type { OpenedFile } from './opened-file.ts';

export type LoadMode = 'create' | 'append' | 'overwrite';

export interface LoadTarget {
  readonly table: TablePath;
  readonly mode: LoadMode;
  /** The same for each attempt to send the same rows, so that they are loaded once. */
  readonly key: string;
}

export interface Progress {
  readonly words: string;
  readonly share: number | undefined;
}

export interface Loaded {
  readonly table: TablePath;
  readonly rows: number;
  /** The size of the file. */
  readonly bytes: number;
  readonly milliseconds: number;
  readonly version: number | undefined;
  /** By their names in the table. */
  readonly vectors: readonly string[];
}

interface Sending {
  readonly session: Session;
  readonly onProgress: (progress: Progress) => void;
  readonly signal: AbortSignal;
}

/** Reading is the first half of the progress bar, sending the second. */
export async function sendFile(opened: OpenedFile, target: LoadTarget, sending: Sending): Promise<Loaded> {
  const { table, mode, key } = target;
  const { session, onProgress, signal } = sending;
  const { file, columns } = opened;
  const startedAt = performance.now();
  const onRead = ({ rows, bytes }: { readonly rows: number; readonly bytes: number }): void => {
    const words = `Reading: ${formatCountOf(rows, 'row')}, ${formatBytes(bytes)} of ${formatBytes(file.size)}`;
    onProgress({ words, share: bytes / Math.max(1, file.size) / 2 });
  };
  const { stream, rows } = await convertFile(opened, { onRead, signal });
  const onSent = (share: number): void => {
    const sent = `${formatBytes(share * stream.size)} of ${formatBytes(stream.size)}`;
    onProgress(
      share < 1
        ? { words: `Sending ${formatCountOf(rows, 'row')}: ${sent}`, share: 0.5 + share / 2 }
        : { words: `The server is writing ${formatCountOf(rows, 'row')}`, share: undefined },
    );
  };
  const client = clientOf(session, uploadFetch(onSent));
  const call = { signal, headers: { 'idempotency-key': key } };
  const reply =
    mode === 'append'
      ? await insertRows(client, table, stream, call)
      : await createTable(client, table, stream, { mode, ...call });
  const vectors = columns.filter(({ isKept, type }) => isKept && isVectorType(type)).map(({ name }) => name);
  const milliseconds = performance.now() - startedAt;
  return { table, rows, bytes: file.size, milliseconds, version: reply.version, vectors };
}

/** The share of the body that has been sent, from 0 to 1. */
type OnSent = (share: number) => void;

/** A minimal `fetch` on XMLHttpRequest, which reports upload progress. */
function uploadFetch(onSent: OnSent): typeof fetch {
  return async (address, init = {}) =>
    new Promise<Response>((resolve, reject) => {
      const request = new XMLHttpRequest();
      request.open(init.method ?? 'GET', new Request(address).url);
      new Headers(init.headers).forEach((value, name) => request.setRequestHeader(name, value));
      request.responseType = 'text';
      request.upload.addEventListener('progress', ({ loaded, total }) => onSent(total === 0 ? 0 : loaded / total));
      request.addEventListener('load', () => resolve(toResponse(request)));
      request.addEventListener('error', () => reject(new TypeError('the connection was closed')));
      request.addEventListener('abort', () => reject(new DOMException('The upload was stopped.', 'AbortError')));
      init.signal?.addEventListener('abort', () => request.abort());
      request.send(init.body instanceof Blob ? init.body : null);
    });
}

function toResponse(request: XMLHttpRequest): Response {
  const headers = new Headers();
  for (const line of request.getAllResponseHeaders().trim().split('\r\n')) {
    const at = line.indexOf(':');
    if (at > 0) headers.append(line.slice(0, at), line.slice(at + 1).trim());
  }
  return new Response(request.responseText, { status: request.status, headers });
}
