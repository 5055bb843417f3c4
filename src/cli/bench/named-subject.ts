import { listIndexes } from '../../client/indexes.ts';
import { countRows, openQuery, queryRows } from '../../client/rows.ts';
import type { TablePath } from '../../model/identifier.ts';
import type { QueryTableBody } from '../../wire/data.ts';
import { showPath } from '../client-command.ts';
import type { Session } from '../client-command.ts';
import { CommandFault } from '../command.ts';
import { toNumbers } from '../query-options.ts';
import { countOf } from '../show/amounts.ts';
import { requireAssignments } from '../update.ts';
import { listVectorColumns } from '../vector-columns.ts';
import { sampleRows } from './sample-rows.ts';
import type { Subject } from './subject.ts';

const VECTORS_TAKEN = 100;
const ROWS_INSERTED = 100;

export interface Named {
  readonly table: TablePath;
  /** The branch that writes go to; `undefined` when nothing may be written. */
  readonly branch: string | undefined;
  /** Of tables that are made to be measured. */
  readonly ownName: string;
  readonly limit: number;
}

/** A table that is there: searched with vectors of its own rows, filtered as --where says. */
export async function namedSubject(session: Session, { table, branch, ownName, limit }: Named): Promise<Subject> {
  const { given, sqlTexts } = session;
  const filter = given.value('where');
  if (filter !== undefined) for (const name of ['filter', 'predicate']) sqlTexts.set(name, filter);
  const small = sampleRows(0, ROWS_INSERTED);
  const copies = branch === undefined ? undefined : await readCopies(session, table);
  return {
    table,
    ...(branch === undefined ? {} : { branch }),
    described: await describe(session, table),
    searches: await findSearches(session, table, limit),
    filters: filter === undefined ? undefined : () => ({ filter, k: limit }),
    change: branch === undefined ? undefined : findChange(session, filter),
    rowsToInsert: copies && (() => copies),
    rowsToCreate: () => small,
    tableToCreate: (turn) => [`${ownName}-${turn}`],
  };
}

async function describe({ client }: Session, table: TablePath): Promise<string> {
  const [rows, indexes] = await Promise.all([countRows(client, table), listIndexes(client, table)]);
  const built = indexes.map(({ columns, index_type: type }) => `${type} on ${columns.join(', ')}`);
  return `${showPath(table)}: ${countOf(rows, 'row')}, ${built.length === 0 ? 'no index' : built.join(', ')}`;
}

async function findSearches({ client, given }: Session, table: TablePath, limit: number): Promise<Subject['searches']> {
  const column = given.value('vector-column') ?? (await listVectorColumns(client, table, {}))[0];
  if (column === undefined) return undefined;
  const rows = await queryRows(client, table, { columns: { column_aliases: { vector: column } }, k: VECTORS_TAKEN });
  const vectors = rows.flatMap((row) => {
    const vector = toNumbers(row['vector']);
    return vector === undefined ? [] : [vector];
  });
  if (vectors.length === 0) return undefined;
  return (turn): QueryTableBody => ({
    vector: { single_vector: vectors[turn % vectors.length] ?? [] },
    vector_column: column,
    k: limit,
  });
}

function findChange(session: Session, predicate: string | undefined): Subject['change'] {
  if (!session.given.has('set')) return undefined;
  if (predicate === undefined) throw new CommandFault(['Say which rows are updated with --where SQL.']);
  const updates = requireAssignments(session).map(([path, sql]): [string, string] => [path, sql]);
  return () => ({ updates, predicate });
}

/** The first rows of the table, which fit it for sure. */
async function readCopies({ client }: Session, table: TablePath): Promise<Uint8Array> {
  const reply = await openQuery(client, table, { k: ROWS_INSERTED });
  return new Uint8Array(await reply.arrayBuffer());
}
