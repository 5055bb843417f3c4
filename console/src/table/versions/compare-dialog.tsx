import type { JSX } from 'preact';
import { describeTable } from '../../../../src/client/tables.ts';
import { useClient } from '../../api.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { ErrorBox } from '../../parts/error-box.tsx';
import { formatBytes, formatCount, formatMoment } from '../../parts/format.ts';
import { Badge, Skeleton } from '../../parts/states.tsx';
import { useLoad } from '../../parts/use-load.ts';
import { schemaOf } from '../described-table.ts';
import type { DescribedTable } from '../described-table.ts';
import { operationWords } from './version-entry.ts';
import type { VersionEntry } from './version-entry.ts';
import type { SchemaJson } from '../../../../src/wire/schema/schema-json.ts';
import { listFields, typeText } from '../../parts/grid/field-type.ts';

interface CompareDialogProps {
  readonly table: DescribedTable;
  readonly older: VersionEntry;
  readonly newer: VersionEntry;
  readonly onClose: () => void;
}

export function CompareDialog({ table, older, newer, onClose }: CompareDialogProps): JSX.Element {
  const client = useClient();
  const { value, error } = useLoad(async () => {
    const [before, after] = await Promise.all(
      [older, newer].map(async ({ version }) => describeTable(client, table.path, { ...table.at, version })),
    );
    return compareSchemas(schemaOf(before?.schema), schemaOf(after?.schema));
  }, [client, older.version, newer.version]);
  return (
    <Dialog title={`Version ${older.version} and version ${newer.version}`} onClose={onClose} isWide>
      <div class="body">
        <Numbers older={older} newer={newer} />
        <h2>Fields</h2>
        <ErrorBox error={error} />
        {value === undefined && error === undefined ? <Skeleton lines={3} /> : null}
        {value === undefined ? null : <Differences differences={value} />}
      </div>
    </Dialog>
  );
}

type PairProps = Pick<CompareDialogProps, 'older' | 'newer'>;

function Numbers({ older, newer }: PairProps): JSX.Element {
  const lines: readonly (readonly [string, (entry: VersionEntry) => string])[] = [
    ['Committed', ({ milliseconds }) => formatMoment(milliseconds)],
    ['Operation', ({ commit }) => (commit === undefined ? 'not recorded' : operationWords(commit))],
    ['Rows', ({ rows }) => (rows === undefined ? '' : formatCount(rows))],
    ['Size', ({ bytes }) => (bytes === undefined ? '' : formatBytes(bytes))],
    ['Fragments', ({ fragments }) => (fragments === undefined ? '' : formatCount(fragments))],
  ];
  return (
    <table class="list" aria-label="Both versions">
      <thead>
        <tr>
          <td />
          <th scope="col">Version {older.version}</th>
          <th scope="col">Version {newer.version}</th>
        </tr>
      </thead>
      <tbody>
        {lines.map(([label, textOf]) => (
          <tr key={label}>
            <th scope="row">{label}</th>
            <td>{textOf(older)}</td>
            <td>{textOf(newer)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const KINDS = { added: 'good', removed: 'bad', changed: 'warn' } as const;

function Differences({ differences }: { readonly differences: readonly FieldDifference[] }): JSX.Element {
  if (differences.length === 0) return <p class="muted">Both have the same fields, types and metadata.</p>;
  return (
    <table class="list" aria-label="Fields that differ">
      <tbody>
        {differences.map(({ path, kind, before, after }) => (
          <tr key={path}>
            <td>
              <Badge kind={KINDS[kind]}>{kind}</Badge>
            </td>
            <td>{path}</td>
            <td>
              <code>{before}</code>
            </td>
            <td>
              <code>{after}</code>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface FieldDifference {
  readonly path: string;
  readonly kind: 'added' | 'removed' | 'changed';
  readonly before: string;
  readonly after: string;
}

/** By path: a renamed field is removed and added. */
function compareSchemas(older: SchemaJson, newer: SchemaJson): readonly FieldDifference[] {
  const [before, after] = [textsOf(older), textsOf(newer)];
  const paths = [...new Set([...before.keys(), ...after.keys()])];
  return paths.flatMap((path): FieldDifference[] => {
    const [was, is] = [before.get(path), after.get(path)];
    if (was === is) return [];
    const kind = was === undefined ? 'added' : is === undefined ? 'removed' : 'changed';
    return [{ path, kind, before: was ?? '', after: is ?? '' }];
  });
}

function textsOf(schema: SchemaJson): ReadonlyMap<string, string> {
  return new Map(
    listFields(schema.fields).map(({ path, field }) => {
      const metadata = Object.entries(field.metadata ?? {}).map(([name, value]) => `${name}: ${value}`);
      const words = [typeText(field.type), field.nullable ? '' : 'never null', ...metadata.toSorted()];
      return [path, words.filter((word) => word !== '').join(', ')];
    }),
  );
}
