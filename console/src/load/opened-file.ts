import type { JsonRow } from '../../../src/client/rows.ts';
import type { Reader } from '../../../src/formats/open-reader.ts';

export interface ChosenColumn {
  readonly source: string;
  /** The type in the file; lists are not vectors yet. */
  readonly sourceType: string;
  /** What the first rows suggest, and why. */
  readonly detectedType: string;
  readonly reason: string;
  readonly name: string;
  readonly type: string;
  readonly isKept: boolean;
}

/** Lists of numbers with one length, which can be searched as vectors. */
export function isDetectedVector({ sourceType, detectedType }: ChosenColumn): boolean {
  return sourceType.startsWith('list<') && isVectorType(detectedType);
}

export function isVectorType(type: string): boolean {
  return /^(?:vector|float|float16|float32|float64)\[\d+\]$/.test(type);
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

/** The parsers are large, so they are loaded with the first file. */
async function openWith(file: File, columns: readonly ChosenColumn[]): Promise<Reader> {
  const [{ openReader }, { blobInput }] = await Promise.all([
    import('../../../src/formats/open-reader.ts'),
    import('../../../src/formats/input.ts'),
  ]);
  const choices = columns.map(({ source, sourceType, name, type, isKept }) => ({
    source,
    name,
    skip: !isKept,
    // Not every type of a file can be written as text.
    ...(type === sourceType ? { vector: false } : { type }),
  }));
  return openReader(blobInput(file), { name: file.name, columns: choices });
}

export async function openFile(file: File): Promise<OpenedFile> {
  const reader = await openWith(file, []);
  return {
    file,
    format: reader.format,
    rowCount: reader.rowCount,
    columns: reader.columns.map(({ source, type, reason }, index) => ({
      source,
      sourceType: reader.sourceColumns[index]?.type ?? type,
      detectedType: type,
      reason,
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
  readonly onRead: (read: { readonly rows: number; readonly bytes: number }) => void;
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
      onRead({ rows, bytes: endByte });
      yield batch;
      // Yields to the event loop, so that the page stays responsive.
      await new Promise((resolve) => setTimeout(resolve));
    }
  };
  const parts: BlobPart[] = [];
  for await (const piece of writeRows('arrow', reader.schema, batches())) parts.push(new Uint8Array(piece));
  return { stream: new Blob(parts), rows };
}
