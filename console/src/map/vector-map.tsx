import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { cellOf, queryRows } from '../../../src/client/rows.ts';
import type { JsonRow, JsonValue } from '../../../src/client/rows.ts';
import { formatShare } from '../../../src/plans/format-figure.ts';
import { projectVector } from '../../../src/vectors/principal-components.ts';
import type { LabForm } from '../lab/form/lab-form.ts';
import type { LabQuery } from '../lab/run-lab.ts';
import { FormError } from '../lab/form/query-body.ts';
import { ErrorBox } from '../parts/error-box.tsx';
import { formatCountOf } from '../parts/format.ts';
import { Cell, toNumbers, toText } from '../parts/grid/cell.tsx';
import { Empty, Meter } from '../parts/states.tsx';
import { useDraft, useLoad } from '../parts/use-load.ts';
import { toColouring } from './colouring.ts';
import { MapCanvas } from './map-canvas.tsx';
import { MapLegend } from './map-legend.tsx';
import { MapRows, shownColumns, toNeighbourQuery } from './map-rows.ts';
import { Neighbours } from './neighbours.tsx';
import { PointList } from './point-list.tsx';
import { poolVectors, toPooling } from './pool-vectors.ts';
import type { Pooling } from './pool-vectors.ts';
import { projectSample } from './project-sample.ts';
import type { MappedSample } from './project-sample.ts';
import type { Places } from './viewport.ts';

/** A sample of the rows as points, by the two principal components of their vectors. */
export function VectorMap({ lab, form }: LabQuery): JSX.Element {
  const [progress, setProgress] = useState(0);
  const { points, pool, colour, filter, version, branch, column } = form;
  const inputs = [points, pool, colour, filter, version, branch, column];
  const mapped = useLoad(
    async (signal) => projectSample(lab, form, { signal, onProgress: setProgress }),
    [lab, ...inputs],
  );
  if (mapped.error !== undefined && !mapped.isLoading) return <Failed error={mapped.error} onRetry={mapped.reload} />;
  if (mapped.value === undefined || mapped.isLoading) {
    return (
      <div class="map-loading" role="status">
        <p>{progress === 0 ? 'Reading rows …' : 'Computing the map …'}</p>
        <Meter label="Progress of the map" share={progress === 0 ? undefined : progress} />
      </div>
    );
  }
  if (mapped.value.sample.rowIds.length === 0) {
    return (
      <Empty icon="filter" title="No rows to draw">
        <p>No row passes the filter and has a vector.</p>
      </Empty>
    );
  }
  return <DrawnMap lab={lab} form={form} mapped={mapped.value} />;
}

function Failed({ error, onRetry }: { readonly error: unknown; readonly onRetry: () => void }): JSX.Element {
  if (!(error instanceof FormError)) return <ErrorBox error={error} onRetry={onRetry} />;
  return (
    <Empty icon="edit" title={error.message}>
      <p>{error.hint}</p>
    </Empty>
  );
}

type DrawnMapProps = LabQuery & { readonly mapped: MappedSample };

function DrawnMap({ lab, form, mapped }: DrawnMapProps): JSX.Element {
  const { sample, places } = mapped;
  const [selected, setSelected] = useDraft<number | undefined>(undefined, sample);
  const rows = useMemo(() => new MapRows(lab, form, sample), [sample]);
  const colouring = useMemo(() => toColouring(sample.colours, form.colour !== ''), [sample]);
  const query = useMemo(
    () => (selected === undefined ? undefined : toNeighbourQuery(form, sample, selected)),
    [sample, form, selected],
  );
  const found = useLoad(
    async () => (query === undefined ? undefined : queryRows(lab.client, lab.table, query)),
    [lab, query],
  );
  const near = useMemo(
    () => placeNeighbours(mapped, form, found.isLoading ? [] : (found.value ?? [])),
    [mapped, found],
  );
  const columns = lab.facts.columns.filter(({ path }) => shownColumns(lab).includes(path));
  const scene = { places, colours: colouring.colours, selected, ...near };
  return (
    <div class="vector-map">
      <MapSummary mapped={mapped} form={form} />
      <MapCanvas
        scene={scene}
        label={`Map of ${formatCountOf(sample.rowIds.length, 'row')} by ${sample.column.path}. The list of points below has the same rows.`}
        onSelect={setSelected}
        tooltip={(index) => <PointTip rowId={sample.rowIds[index] ?? ''} rows={rows} columns={columns} />}
      />
      {colouring.legend === undefined ? null : <MapLegend title={form.colour} legend={colouring.legend} />}
      {selected === undefined || query === undefined ? (
        <p class="hint">Click a point to see its nearest neighbours. Drag to move, scroll to zoom.</p>
      ) : (
        <Neighbours
          lab={lab}
          rowId={sample.rowIds[selected] ?? ''}
          query={query}
          rows={found.isLoading ? { ...found, value: undefined } : found}
          onClose={() => setSelected(undefined)}
        />
      )}
      <details>
        <summary>List of points</summary>
        <PointList rowIds={sample.rowIds} rows={rows} columns={columns} selected={selected} onSelect={setSelected} />
      </details>
    </div>
  );
}

function MapSummary({ mapped, form }: { readonly mapped: MappedSample; readonly form: LabForm }): JSX.Element {
  const { sample, projection } = mapped;
  const shown = sample.rowIds.length;
  return (
    <div class="summary">
      <p role="status">
        <strong>{formatCountOf(shown, 'point')}</strong>
        {shown + sample.skipped < sample.total ? ` of ${formatCountOf(sample.total, 'row')}` : ''}
        {form.filter === '' ? '' : ' that pass the filter'}
        <span class="muted">
          {' '}
          · two principal components show {formatShare(projection.share)} of the variance
          {sample.skipped === 0 ? '' : ` · left out: ${formatCountOf(sample.skipped, 'row')} without a vector`}
        </span>
      </p>
    </div>
  );
}

/** Neighbors in the sample are marked; others are placed by their own vectors. */
function placeNeighbours(
  { sample, projection, indexOf }: MappedSample,
  { pool }: LabForm,
  rows: readonly JsonRow[],
): { readonly neighbours: ReadonlySet<number>; readonly others: Places } {
  const indexes = rows.map((row) => indexOf.get(toText(row['_rowid'] ?? null)));
  const outside = rows
    .filter((_row, at) => indexes[at] === undefined)
    .map((row) => vectorOf(cellOf(row, sample.column.path) ?? null, toPooling(pool)))
    .filter((vector) => vector !== undefined)
    .map((vector) => projectVector(projection, vector));
  return {
    neighbours: new Set(indexes.filter((index) => index !== undefined)),
    others: { x: Float64Array.from(outside, ([x]) => x), y: Float64Array.from(outside, ([, y]) => y) },
  };
}

function vectorOf(value: JsonValue, pooling: Pooling): ArrayLike<number> | undefined {
  const numbers = toNumbers(value);
  if (numbers !== undefined || !Array.isArray(value)) return numbers;
  return poolVectors(
    value.flatMap((each: JsonValue) => {
      const vector = toNumbers(each);
      return vector === undefined ? [] : [vector];
    }),
    pooling,
  );
}

interface PointTipProps {
  readonly rowId: string;
  readonly rows: MapRows;
  readonly columns: LabQuery['lab']['facts']['columns'];
}

const HOVER_MILLISECONDS = 80;

/** Reads the row once the pointer rests. */
function PointTip({ rowId, rows, columns }: PointTipProps): JSX.Element {
  const { error } = useLoad(
    async (signal) => {
      await new Promise((resolve) => setTimeout(resolve, HOVER_MILLISECONDS));
      if (!signal.aborted) await rows.read([rowId]);
    },
    [rows, rowId],
  );
  const row = rows.find(rowId);
  if (error !== undefined) return <>The row could not be read.</>;
  if (row === undefined) return <>Row {rowId}</>;
  return (
    <dl>
      {columns.map(({ path, type }) => (
        <div key={path}>
          <dt>{path}</dt>
          <dd>
            <Cell value={cellOf(row, path)} type={type} />
          </dd>
        </div>
      ))}
    </dl>
  );
}
