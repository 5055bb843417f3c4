import type { TablePath } from '../../../../../src/model/identifier.ts';
import type { DiffTableBody } from '../../../../../src/wire/history/diffs.ts';
import { tableHash } from '../../../links.ts';
import type { At } from '../../../links.ts';
import { branchOf } from '../../described-table.ts';

/** One side of a comparison. */
export type Side = NonNullable<DiffTableBody['to']>;

export interface Comparison {
  readonly from: Side;
  readonly to: Side;
}

/** In the URL: `8`, `tag:spring`, `branch:pricing`, or `branch:pricing:8`. */
function toText({ version, tag, branch }: Side): string {
  if (tag !== undefined) return `tag:${tag}`;
  if (branch === undefined) return version === undefined ? 'latest' : String(version);
  return version === undefined ? `branch:${branch}` : `branch:${branch}:${version}`;
}

function toSide(text: string): Side | undefined {
  if (/^[1-9]\d{0,14}$/.test(text)) return { version: Number(text) };
  if (text === 'latest') return {};
  const [, kind, name = '', version] = /^(tag|branch):([^:]+)(?::([1-9]\d{0,14}))?$/.exec(text) ?? [];
  if (kind === undefined) return undefined;
  return kind === 'tag'
    ? { tag: name }
    : { branch: name, ...(version === undefined ? {} : { version: Number(version) }) };
}

/** `undefined` if the URL contains none. */
export function readComparison(query: URLSearchParams): Comparison | undefined {
  const [from, to] = [toSide(query.get('from') ?? ''), toSide(query.get('to') ?? '')];
  return from === undefined || to === undefined ? undefined : { from, to };
}

/** A link that shows the same comparison to others. */
export function comparisonHash(table: TablePath, at: At, { from, to }: Comparison): string {
  const sides = new URLSearchParams({ from: toText(from), to: toText(to) });
  return `${tableHash(table, 'versions', branchOf({ at }))}&${sides.toString()}`;
}

export function sideWords({ version, tag, branch }: Side): string {
  if (tag !== undefined) return `the tag ${tag}`;
  const of = branch === undefined ? '' : ` of ${branch}`;
  return version === undefined ? `the latest version${of || ' of main'}` : `version ${version}${of}`;
}
