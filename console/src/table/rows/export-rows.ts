import { ARROW_FILE, ARROW_STREAM, NDJSON } from '../../../../src/client/api-client.ts';
import type { ApiClient } from '../../../../src/client/api-client.ts';
import { openQuery } from '../../../../src/client/rows.ts';
import type { TablePath } from '../../../../src/model/identifier.ts';
import type { QueryTableBody } from '../../../../src/wire/data.ts';

export const EXPORTS = [
  { format: 'arrow', label: 'Arrow', extension: 'arrow' },
  { format: 'parquet', label: 'Parquet', extension: 'parquet' },
  { format: 'csv', label: 'CSV', extension: 'csv' },
  { format: 'ndjson', label: 'NDJSON', extension: 'ndjson' },
] as const;
export type ExportFormat = (typeof EXPORTS)[number]['format'];

interface Exporting {
  readonly format: ExportFormat;
  readonly signal: AbortSignal;
  readonly onBytes: (bytes: number) => void;
}

/** The server sends Arrow and NDJSON; other formats are converted from Arrow. */
export async function exportRows(
  client: ApiClient,
  table: TablePath,
  query: QueryTableBody,
  { format, signal, onBytes }: Exporting,
): Promise<Blob> {
  const accept = format === 'arrow' ? ARROW_FILE : format === 'ndjson' ? NDJSON : ARROW_STREAM;
  const response = await openQuery(client, table, query, { accept, signal });
  const bytes = await readAll(response, onBytes);
  return format === 'arrow' || format === 'ndjson' ? bytes : convert(bytes, format);
}

async function readAll(response: Response, onBytes: (bytes: number) => void): Promise<Blob> {
  const parts: BlobPart[] = [];
  const reader = response.body?.getReader();
  let count = 0;
  for (let next = await reader?.read(); next?.value !== undefined; next = await reader?.read()) {
    parts.push(next.value);
    count += next.value.length;
    onBytes(count);
  }
  return new Blob(parts);
}

async function convert(stream: Blob, format: 'csv' | 'parquet'): Promise<Blob> {
  const [{ openReader }, { blobInput }, { writeRows }] = await Promise.all([
    import('../../../../src/formats/open-reader.ts'),
    import('../../../../src/formats/input.ts'),
    import('../../../../src/formats/write-rows.ts'),
  ]);
  const reader = await openReader(blobInput(stream), { format: 'arrow' });
  const batches = async function* () {
    for await (const { batch } of reader.batches()) yield batch;
  };
  const parts: BlobPart[] = [];
  for await (const piece of writeRows(format, reader.schema, batches())) parts.push(new Uint8Array(piece));
  return new Blob(parts);
}

/** Starts a download. */
export function saveFile(file: Blob, name: string): void {
  const address = URL.createObjectURL(file);
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), REVOKE_MILLISECONDS);
}

const REVOKE_MILLISECONDS = 60_000;
