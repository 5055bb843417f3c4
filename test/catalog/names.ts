import fc from 'fast-check';
import { checkName } from '../../src/model/identifier.ts';
import type { TablePath } from '../../src/model/identifier.ts';

/** Names that are allowed, however odd. */
export const ODD_NAMES: readonly string[] = [
  ' ',
  '  two spaces  ',
  '\u00a0',
  '\u3000',
  '.a',
  '...',
  '-',
  '--',
  "'",
  '"',
  '`',
  ';',
  "'; drop table tables; --",
  ':name',
  '@x',
  '*',
  '_',
  'null',
  'NULL',
  'true',
  '0',
  '1e3',
  '__proto__',
  'constructor',
  'toString',
  'con',
  'Orders',
  'orders',
  'ORDERS',
  '\u00e9',
  'e\u0301',
  '\u212b',
  '\u00c5',
  'ı',
  'İ',
  'ß',
  'ẞ',
  'שלום',
  'مرحبا',
  '表',
  'が',
  'か\u3099',
  '😀',
  '👨‍',
  '\ue000',
  '\uffff',
  '\ufffd',
  '\u{10ffff}',
  'x'.repeat(255),
  '😀'.repeat(63),
  'table-01h00000000000000000000000.lance',
].filter(isAllowed);

/** Mostly short names of characters that sort next to the separator and to each other, so that they meet. */
const name = fc
  .oneof(
    fc.string({ unit: fc.constantFrom(' ', '!', 'a', 'b', '~', 'é', '\uffff', '😀'), minLength: 1, maxLength: 3 }),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 40 }),
    fc.constantFrom(...ODD_NAMES),
  )
  .filter(isAllowed);

export const names = name;

export const namePaths: fc.Arbitrary<TablePath> = fc
  .tuple(name, fc.array(name, { maxLength: 3 }))
  .map(([first, rest]) => [first, ...rest]);

function isAllowed(text: string): boolean {
  try {
    checkName(text, '$');
    return true;
  } catch {
    return false;
  }
}
