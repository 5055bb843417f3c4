import { VOLATILE_FUNCTIONS } from './sql/functions.ts';
import { isSymbol, readTokens } from './sql/tokenizer.ts';

const NAMES: ReadonlySet<string> = new Set(VOLATILE_FUNCTIONS.split(' '));

/** The first function whose value is another one each time. A column of such a name can be written in backticks. */
export function findVolatile(sql: string): string | undefined {
  const tokens = [...readTokens(sql)];
  const found = tokens.find(({ kind, text }, index) => {
    const isCall = kind === 'word' || (kind === 'quoted-name' && isSymbol(tokens[index + 1], '('));
    return isCall && NAMES.has(text.toLowerCase()) && !isSymbol(tokens[index - 1], '.');
  });
  return found?.text;
}
