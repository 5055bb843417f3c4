import type { JSX } from 'preact';
import type { JsonRow } from '../../../src/client/rows.ts';
import type { QueryTableBody } from '../../../src/wire/data.ts';
import { formatCountOf } from '../parts/format.ts';
import { CopyAs } from '../code/copy-as.tsx';
import { LabResults } from '../lab/lab-results.tsx';
import type { Lab } from '../lab/run-lab.ts';
import { Button } from '../parts/button.tsx';
import { ErrorBox } from '../parts/error-box.tsx';
import { Skeleton } from '../parts/states.tsx';
import type { Load } from '../parts/use-load.ts';

interface NeighboursProps {
  readonly lab: Lab;
  readonly rowId: string;
  readonly query: QueryTableBody;
  readonly rows: Load<readonly JsonRow[] | undefined>;
  readonly onClose: () => void;
}

/** The rows nearest to a point, as found by the server. */
export function Neighbours({ lab, rowId, query, rows, onClose }: NeighboursProps): JSX.Element {
  const { value, error, reload } = rows;
  return (
    <section class="neighbours" aria-label="Neighbours">
      <header>
        <h2>Neighbours of row {rowId}</h2>
        <span class="muted" role="status">
          {value === undefined ? '' : formatCountOf(value.length, 'row')}
        </span>
        <span class="spring" />
        <CopyAs table={lab.table} operation={() => ({ name: 'query', body: query })} />
        <Button kind="quiet" icon="close" label="Deselect the point" onClick={onClose} />
      </header>
      <ErrorBox error={error} onRetry={reload} />
      {value === undefined ? (
        error === undefined ? (
          <Skeleton />
        ) : null
      ) : (
        <LabResults rows={value} schema={lab.facts.schema} columns={lab.facts.columns} label="Nearest rows" />
      )}
    </section>
  );
}
