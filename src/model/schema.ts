/** An Arrow schema as plain values. */
export interface Schema {
  readonly fields: readonly Field[];
  readonly metadata: ReadonlyMap<string, string>;
}

export interface Field {
  readonly name: string;
  readonly nullable: boolean;
  readonly type: DataType;
  readonly metadata: ReadonlyMap<string, string>;
}

/** The field metadata of a computed column: the SQL that computes its value from the other columns of a row. */
export const COMPUTED_KEY = 'tiltyard.computed';

/** The definition as stored, unvalidated: any writer of the table's files may have set it. */
export function computedText({ metadata }: Pick<Field, 'metadata'>): string | undefined {
  return metadata.get(COMPUTED_KEY);
}

export type TimeUnit = 's' | 'ms' | 'us' | 'ns';

export interface IntType {
  readonly kind: 'int';
  readonly bits: 8 | 16 | 32 | 64;
  readonly signed: boolean;
}

export type DataType =
  | { readonly kind: 'null' }
  | { readonly kind: 'bool' }
  | IntType
  | { readonly kind: 'float'; readonly bits: 16 | 32 | 64 }
  | { readonly kind: 'decimal'; readonly bits: 32 | 64 | 128 | 256; readonly precision: number; readonly scale: number }
  | { readonly kind: 'utf8'; readonly layout: 'plain' | 'large' | 'view' }
  | { readonly kind: 'binary'; readonly layout: 'plain' | 'large' | 'view' }
  | { readonly kind: 'fixed-size-binary'; readonly bytes: number }
  | { readonly kind: 'date'; readonly unit: 'day' | 'ms' }
  | { readonly kind: 'time'; readonly bits: 32 | 64; readonly unit: TimeUnit }
  | { readonly kind: 'timestamp'; readonly unit: TimeUnit; readonly timezone: string | undefined }
  | { readonly kind: 'duration'; readonly unit: TimeUnit }
  | { readonly kind: 'interval'; readonly unit: 'year-month' | 'day-time' | 'month-day-nano' }
  | { readonly kind: 'list'; readonly layout: 'plain' | 'large' | 'view' | 'large-view'; readonly item: Field }
  | { readonly kind: 'fixed-size-list'; readonly length: number; readonly item: Field }
  | { readonly kind: 'struct'; readonly children: readonly Field[] }
  | { readonly kind: 'map'; readonly entries: Field; readonly keysSorted: boolean }
  | { readonly kind: 'union'; readonly children: readonly Field[] }
  | { readonly kind: 'run-end-encoded'; readonly children: readonly Field[] }
  | { readonly kind: 'dictionary'; readonly index: IntType; readonly value: DataType; readonly ordered: boolean };

export function childFields(type: DataType): readonly Field[] {
  switch (type.kind) {
    case 'struct':
    case 'union':
    case 'run-end-encoded':
      return type.children;
    case 'list':
    case 'fixed-size-list':
      return [type.item];
    case 'map':
      return [type.entries];
    default:
      return [];
  }
}

/** `arrow.json` in a stream is text; the storage engine stores it as `lance.json`, in a binary form. */
export function isJson({ metadata }: Pick<Field, 'metadata'>): boolean {
  const extension = metadata.get('ARROW:extension:name');
  return extension === 'lance.json' || extension === 'arrow.json';
}

/** The dimension of a searchable vector column. */
export function vectorDimension(type: DataType): number | undefined {
  if (type.kind === 'list') return vectorDimension(type.item.type);
  if (type.kind !== 'fixed-size-list') return undefined;
  const item = type.item.type;
  // The engine stores signed bytes, but cannot search them.
  const isSearched = item.kind === 'float' || (item.kind === 'int' && item.bits === 8 && !item.signed);
  return isSearched ? type.length : undefined;
}
