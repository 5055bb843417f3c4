import { invalidInput } from '../../errors/service-error.ts';
import type { ServiceError } from '../../errors/service-error.ts';
import { isSymbol, readTokens } from '../../guard/sql/tokenizer.ts';
import type { SqlToken } from '../../guard/sql/tokenizer.ts';
import { quoteForMessage } from '../../model/identifier.ts';

/** The clauses of `SELECT … FROM … WHERE … LIMIT …` as texts; the SQL guard checks each one later. */
export interface SelectText {
  /** The names of its path, joined by dots, or one quoted name. */
  readonly table: readonly string[];
  /** `undefined` for all columns. */
  readonly columns: readonly (readonly [name: string, expression: string])[] | undefined;
  readonly filter: string | undefined;
  readonly limit: number | undefined;
}

const HINT = 'Send it as SELECT id, price * 2 AS twice FROM items WHERE price > 1 LIMIT 100.';
const CLAUSES = ['SELECT', 'FROM', 'WHERE', 'LIMIT'] as const;
/** A text, a name in backticks, or a captured name in double quotes. */
const QUOTED = /'(?:[^']|'')*'|`(?:[^`]|``)*`|"((?:[^"]|"")*)"/g;
type Clause = (typeof CLAUSES)[number];

/** Clauses that a view cannot have. Each consists of two words, so that it is not mistaken for part of a condition. */
const UNSUPPORTED = /^(?:ORDER BY|GROUP BY|UNION(?= (?:ALL|SELECT)$))/i;

/** A query of one table, restricted to what the engine evaluates row by row. */
export function readSelect(given: string): SelectText {
  const text = withBackticks(given);
  const clauses = splitClauses(text);
  const [select, from] = [clauses.get('SELECT') ?? [], clauses.get('FROM') ?? []];
  if (select.length === 0 || from.length === 0) throw unreadable('it is not a SELECT … FROM …');
  const where = clauses.get('WHERE');
  refuseUnsupported([...from, ...(where ?? []), ...(clauses.get('LIMIT') ?? [])]);
  return {
    table: readTable(from),
    columns:
      isSymbol(select[0], '*') && select.length === 1
        ? undefined
        : splitItems(select).map((item) => readItem(text, item)),
    filter: where === undefined ? undefined : textOf(text, where),
    limit: readLimit(clauses.get('LIMIT')),
  };
}

/**
 * Names may be in double quotes, as in standard SQL and from LanceDB's client; the engine would parse them as texts.
 */
function withBackticks(text: string): string {
  return text.replaceAll(QUOTED, (quoted, name: string | undefined) =>
    name === undefined ? quoted : `\`${name.replaceAll('""', '"').replaceAll('`', '``')}\``,
  );
}

/** Splits at the clause keywords outside brackets, in order. */
function splitClauses(text: string): ReadonlyMap<Clause, readonly SqlToken[]> {
  const clauses = new Map<Clause, SqlToken[]>();
  let next = 0;
  let open: SqlToken[] | undefined;
  for (const { token, depth } of withDepth(text)) {
    const clause = token.kind === 'word' && depth === 0 ? CLAUSES.indexOf(toClause(token.text)) : -1;
    if (clause >= next && (clause === 0) === (open === undefined)) {
      clauses.set(toClause(token.text), (open = []));
      next = clause + 1;
    } else if (open === undefined) throw unreadable('it does not start with SELECT');
    else open.push(token);
  }
  return clauses;
}

function refuseUnsupported(tokens: readonly SqlToken[]): void {
  for (const [index, token] of tokens.entries()) {
    const following = tokens[index + 1];
    if (token.kind !== 'word' || following?.kind !== 'word') continue;
    const [found] = UNSUPPORTED.exec(`${token.text} ${following.text}`) ?? [];
    if (found !== undefined) throw notByRow(found);
  }
}

function notByRow(clause: string): ServiceError {
  return unreadable(`${clause.toUpperCase()} is not supported, because a view is computed one row at a time`);
}

function toClause(word: string): Clause {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Looked for in the list of clauses by the caller.
  return word.toUpperCase() as Clause;
}

function* withDepth(text: string): Generator<{ readonly token: SqlToken; readonly depth: number }> {
  let depth = 0;
  for (const token of tokensOf(text)) {
    if (isSymbol(token, ')') || isSymbol(token, ']')) depth -= 1;
    yield { token, depth };
    if (isSymbol(token, '(') || isSymbol(token, '[')) depth += 1;
  }
}

function tokensOf(text: string): readonly SqlToken[] {
  try {
    return [...readTokens(text)];
  } catch {
    throw unreadable('it cannot be read as SQL');
  }
}

function readTable(tokens: readonly SqlToken[]): readonly string[] {
  const names = tokens.filter((_, index) => index % 2 === 0);
  const isPath = tokens.every((token, index) => (index % 2 === 0 ? isName(token) : isSymbol(token, '.')));
  if (isPath && tokens.length % 2 === 1) return names.map(({ text }) => text);
  if (tokens.some(({ kind, text }) => kind === 'word' && /^join$/i.test(text))) throw notByRow('join');
  throw unreadable('its FROM is not the name of one table');
}

function splitItems(tokens: readonly SqlToken[]): readonly (readonly SqlToken[])[] {
  const items: SqlToken[][] = [[]];
  let depth = 0;
  for (const token of tokens) {
    if (isSymbol(token, '(') || isSymbol(token, '[')) depth += 1;
    if (isSymbol(token, ')') || isSymbol(token, ']')) depth -= 1;
    if (depth === 0 && isSymbol(token, ',')) items.push([]);
    else items.at(-1)?.push(token);
  }
  return items;
}

function readItem(text: string, tokens: readonly SqlToken[]): readonly [string, string] {
  const [name, as] = [tokens.at(-1), tokens.at(-2)];
  if (name === undefined) throw unreadable('a column is missing');
  if (isName(name) && as?.kind === 'word' && as.text.toUpperCase() === 'AS' && tokens.length > 2) {
    return [name.text, textOf(text, tokens.slice(0, -2))];
  }
  if (tokens.length === 1 && isName(name)) return [name.text, textOf(text, tokens)];
  throw unreadable(`the expression ${quoteForMessage(textOf(text, tokens))} has no name`);
}

function readLimit(tokens: readonly SqlToken[] | undefined): number | undefined {
  if (tokens === undefined) return undefined;
  const [token, ...more] = tokens;
  if (token?.kind === 'number' && more.length === 0 && /^\d{1,15}$/.test(token.text)) return Number(token.text);
  throw unreadable('its LIMIT is not a whole number');
}

function isName({ kind }: SqlToken): boolean {
  return kind === 'word' || kind === 'quoted-name';
}

function textOf(text: string, tokens: readonly SqlToken[]): string {
  return text.slice(tokens[0]?.start ?? 0, tokens.at(-1)?.end ?? 0);
}

function unreadable(reason: string): ServiceError {
  return invalidInput(`source_query is not a valid query for a view: ${reason}.`, HINT);
}
