import type { JsonRow } from '../../../src/client/rows.ts';
import type { Reader } from '../../../src/formats/open-reader.ts';

export interface ChosenColumn {
  readonly source: string;
  readonly sourceType: string;
  readonly name: string;
  readonly type: string;
  readonly isKept: boolean;
}

export interface OpenedFile {
  readonly file: File;
  readonly format: string;
  readonly rowCount: number | undefined;
  readonly columns: readonly ChosenColumn[];
}

export interface Preview {
  readonly columns: Reader['columns'];
  readonly rows: readonly JsonRow[];
}

const PREVIEW_ROWS = 20;

/** The parsers are large: loaded with the first file. */
async function openWith(file: File, columns: readonly ChosenColumn[]): Promise<Reader> {
  const [{ openReader }, { blobInput }] = await Promise.all([
    import('../../../src/formats/open-reader.ts'),
    import('../../../src/formats/input.ts'),
  ]);
  const choices = columns.map(({ source, name, type, isKept }) => ({ source, name, type, skip: !isKept }));
  return openReader(blobInput(file), { name: file.name, columns: choices });
}

export async function openFile(file: File): Promise<OpenedFile> {
  const reader = await openWith(file, []);
  return {
    file,
    format: reader.format,
    rowCount: reader.rowCount,
    columns: reader.sourceColumns.map(({ source, type }) => ({
      source,
      sourceType: type,
      name: source,
      type,
      isKept: true,
    })),
  };
}

export async function previewFile({ file, columns }: OpenedFile): Promise<Preview> {
  const reader = await openWith(file, columns);
  const rows = await reader.preview(PREVIEW_ROWS);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- A preview holds what JSON can hold.
  return { columns: reader.columns, rows: rows as readonly JsonRow[] };
}

interface Converted {
  readonly stream: Blob;
  readonly rows: number;
}

interface Conversion {
  readonly onRead: (share: number) => void;
  readonly signal: AbortSignal;
}

/** The whole file as an Arrow stream; the browser keeps large ones on disk. */
export async function convertFile({ file, columns }: OpenedFile, { onRead, signal }: Conversion): Promise<Converted> {
  const [reader, { writeRows }] = await Promise.all([
    openWith(file, columns),
    import('../../../src/formats/write-rows.ts'),
  ]);
  let rows = 0;
  const batches = async function* () {
    for await (const { batch, endByte } of reader.batches()) {
      signal.throwIfAborted();
      rows += batch.numRows;
      onRead(endByte / Math.max(1, file.size));
      yield batch;
      // Yields to the event loop: the page stays responsive.
      await new Promise((resolve) => setTimeout(resolve));
    }
  };
  const parts: BlobPart[] = [];
  for await (const piece of writeRows('arrow', reader.schema, batches())) parts.push(new Uint8Array(piece));
  return { stream: new Blob(parts), rows };
}
