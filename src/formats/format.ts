import { ServiceError } from '../errors/service-error.ts';
import type { Input } from './input.ts';

export const FORMATS = ['arrow', 'parquet', 'csv', 'ndjson'] as const;
export type Format = (typeof FORMATS)[number];

const EXTENSIONS: Readonly<Record<string, Format>> = {
  arrow: 'arrow',
  arrows: 'arrow',
  feather: 'arrow',
  ipc: 'arrow',
  stream: 'arrow',
  parquet: 'parquet',
  parq: 'parquet',
  pq: 'parquet',
  csv: 'csv',
  tsv: 'csv',
  txt: 'csv',
  ndjson: 'ndjson',
  jsonl: 'ndjson',
  json: 'ndjson',
};

const SNIFF_BYTES = 4096;
const CONTINUATION = 0xffffffff;

export function formatOfName(name: string): Format | undefined {
  const extension = /\.([^./\\]+)$/.exec(name)?.[1]?.toLowerCase();
  return extension === undefined || !Object.hasOwn(EXTENSIONS, extension) ? undefined : EXTENSIONS[extension];
}

/** The contents decide where they are plain; otherwise the name's extension does. */
export async function detectFormat(input: Input, name = ''): Promise<Format> {
  const head = new Uint8Array(await input.slice(0, Math.min(SNIFF_BYTES, input.size)));
  const format = formatOfContents(head) ?? formatOfName(name) ?? formatOfText(head);
  if (format !== undefined) return format;
  throw new ServiceError(
    'InvalidInput',
    `${name === '' ? 'The input' : `"${name}"`} has no format that is known here.`,
    {
      hint: `Say which of ${FORMATS.join(', ')} it is.`,
    },
  );
}

function formatOfContents(head: Uint8Array): Format | undefined {
  const magic = String.fromCharCode(...head.subarray(0, 6));
  if (magic.startsWith('PAR1')) return 'parquet';
  if (magic === 'ARROW1') return 'arrow';
  if (head.length < 8) return undefined;
  return new DataView(head.buffer, head.byteOffset).getUint32(0, true) === CONTINUATION ? 'arrow' : undefined;
}

function formatOfText(head: Uint8Array): Format | undefined {
  if (head.length === 0 || head.includes(0)) return undefined;
  const text = new TextDecoder().decode(head).trimStart();
  if (text.startsWith('{')) return 'ndjson';
  return /[,;\t|]/.test(text.split('\n', 1)[0] ?? '') ? 'csv' : undefined;
}
