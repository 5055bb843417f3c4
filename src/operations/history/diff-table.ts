import type { VersionDiff } from '../../engine/engine.ts';
import { invalidInput } from '../../errors/service-error.ts';
import { guardTagName } from '../../guard/names.ts';
import { requireInteger } from '../../guard/numbers.ts';
import { quotePath } from '../../model/field-path.ts';
import { MAIN_BRANCH } from '../../model/table.ts';
import type { TableRecord, TableState } from '../../model/table.ts';
import { DiffTableBody, DiffTableReply } from '../../wire/history/diffs.ts';
import type { DiffedState } from '../../wire/history/diffs.ts';
import { readQueryTimeout } from '../data/read-query.ts';
import { watchQuery } from '../data/watch-query.ts';
import { defineTableOperation, json } from '../operation.ts';
import type { Services } from '../services.ts';
import { toTableState } from '../shared/table-state.ts';

const LIMIT_DEFAULT = 100;

export const diffTable = defineTableOperation({
  id: 'diff_table',
  path: '/v1/table/:id/diff',
  summary: 'Find the rows that differ between two versions or branches of a table',
  permission: 'read',
  body: { kind: 'json', shape: DiffTableBody },
  replies: [json(DiffTableReply, 'Rows and columns that were added, removed or changed.')],
  async run(request, services) {
    const { table, body } = request;
    const { diffRowsMax, diffShownMax, diffBytesMax, columnsMax } = services.limits.query;
    const limit = requireInteger(body.limit ?? Math.min(LIMIT_DEFAULT, diffShownMax), {
      field: 'limit',
      minimum: 0,
      maximum: diffShownMax,
    });
    requireNames('on', body.on, columnsMax);
    requireNames('columns', body.columns, columnsMax);
    const from = await readState('from', table, body.from, services);
    const to = await readState('to', table, body.to ?? {}, services);
    const { on, columns } = body;
    const wanted = { from, to, on, columns, limit, rowsMax: diffRowsMax, shownCharactersMax: diffBytesMax };
    const diff = await watchQuery({ request, shape: () => ({}) }, services, async () =>
      services.engine.rows.diff(wanted, readQueryTimeout(request)),
    );
    const bytes = Buffer.from(toJson(diff, { from, to }));
    return { kind: 'bytes', mediaType: 'application/json', bytes };
  },
});

function requireNames(field: 'on' | 'columns', names: readonly string[] | undefined, maximum: number): void {
  if (names === undefined) return;
  requireInteger(names.length, { field: `The number of columns in ${field}`, minimum: 1, maximum });
  const repeated = names.find((name, index) => names.indexOf(name) !== index);
  if (repeated !== undefined) throw invalidInput(`${field} has the column ${quotePath([repeated])} twice.`);
}

async function readState(
  field: 'from' | 'to',
  table: TableRecord,
  { tag, ...state }: DiffedState,
  { engine }: Services,
): Promise<TableState> {
  if (tag === undefined) return toTableState(table, state);
  if (state.version !== undefined || state.branch !== undefined) {
    throw invalidInput(
      `${field} has a tag together with a version or a branch.`,
      'A tag determines both: give only the tag.',
    );
  }
  return toTableState(table, await engine.versions.requireTag(table.location, guardTagName(tag)));
}

/** The rows are JSON already: parsing them into numbers would lose digits. */
function toJson(diff: VersionDiff, { from, to }: { readonly from: TableState; readonly to: TableState }): string {
  const { key, counts, rows, columns } = diff;
  const head = {
    from: { version: diff.from, branch: from.branch ?? MAIN_BRANCH },
    to: { version: diff.to, branch: to.branch ?? MAIN_BRANCH },
    key: {
      kind: key.kind === 'columns' ? 'columns' : 'row_ids',
      columns: key.kind === 'columns' ? key.columns : [],
      repeated: diff.hasRepeatedKeys,
    },
    columns,
    counts,
    truncated: rows.length < counts.added + counts.removed + counts.changed,
  };
  const texts = rows.map(({ change, key: keyText, before, after, changed }) => {
    const members = [
      `"change":"${change}"`,
      `"key":${keyText}`,
      ...(before === undefined ? [] : [`"before":${before}`]),
      ...(after === undefined ? [] : [`"after":${after}`]),
      ...(changed === undefined ? [] : [`"changed":${JSON.stringify(changed)}`]),
    ];
    return `{${members.join(',')}}`;
  });
  return `${JSON.stringify(head).slice(0, -1)},"rows":[${texts.join(',')}]}`;
}
