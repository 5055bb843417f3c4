import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { ClientError } from '../../../src/client/client-error.ts';
import { Button } from '../parts/button.tsx';
import { ErrorBox } from '../parts/error-box.tsx';
import { Heads, right } from '../parts/grid/pager.tsx';
import { Icon } from '../parts/icon.tsx';
import { Skeleton } from '../parts/states.tsx';
import { useDocumentTitle } from '../parts/use-load.ts';
import { CommitsList, JobsList } from './activity-lists.tsx';
import { toCharts } from './charts.ts';
import type { Chart } from './charts.ts';
import { LineChart } from './line-chart.tsx';
import { SlowQueries } from './slow-queries.tsx';
import { useSamples } from './use-activity.ts';

/** One minute: the initial width of the charts. */
const SAMPLES_MIN = 30;

export function ActivityView(): JSX.Element {
  useDocumentTitle('Activity');
  const [isPaused, setIsPaused] = useState(false);
  const [asTable, setAsTable] = useState(false);
  return (
    <div class="view activity">
      <header class="section-head">
        <h1>Activity</h1>
        <span class="muted">{isPaused ? 'paused' : 'live, every two seconds'}</span>
        <span class="spring" />
        <Button icon="table" isPressed={asTable} onClick={() => setAsTable(!asTable)}>
          As a table
        </Button>
        <Button icon={isPaused ? 'play' : 'pause'} isPressed={isPaused} onClick={() => setIsPaused(!isPaused)}>
          {isPaused ? 'Go on' : 'Pause'}
        </Button>
      </header>
      <Figures isPaused={isPaused} asTable={asTable} />
      <div class="feeds">
        <CommitsList isPaused={isPaused} />
        <JobsList isPaused={isPaused} />
        <SlowQueries isPaused={isPaused} />
      </div>
    </div>
  );
}

interface FiguresProps {
  readonly isPaused: boolean;
  readonly asTable: boolean;
}

function Figures({ isPaused, asTable }: FiguresProps): JSX.Element {
  const { samples, error } = useSamples(isPaused);
  const charts = useMemo(() => toCharts(samples), [samples]);
  if (error instanceof ClientError && [401, 403, 404].includes(error.status)) {
    return (
      <p class="note">
        <Icon name="warning" />
        <span>
          The figures of the server are for its administrators{error.status === 404 ? ', and turned off here' : ''}: the
          setting <code>metrics.access</code> decides. Jobs and commits below are those that you may see.
        </span>
      </p>
    );
  }
  if (samples.length === 0) return error === undefined ? <Skeleton /> : <ErrorBox error={error} />;
  return (
    <>
      <ErrorBox error={error} />
      {asTable ? (
        <FigureTable charts={charts} />
      ) : (
        <div class="charts">
          {charts.map((chart) => (
            <LineChart key={chart.title} chart={chart} capacity={Math.max(SAMPLES_MIN, samples.length)} />
          ))}
        </div>
      )}
    </>
  );
}

/** The figures as text: current, and over the observed time. */
function FigureTable({ charts }: { readonly charts: readonly Chart[] }): JSX.Element {
  return (
    <table class="entries">
      <caption class="hidden">Figures of the last five minutes</caption>
      <Heads heads={['Figure', right('Now'), right('Least'), right('Most')]} />
      <tbody>
        {charts.flatMap(({ title, lines, format }) =>
          lines.map(({ label, values }) => {
            const known = values.filter((value) => value !== undefined);
            return (
              <tr key={`${title} ${label}`}>
                <th scope="row">
                  {title}: {label}
                </th>
                <td class="right">{write(format, known.at(-1))}</td>
                <td class="right">{write(format, known.length === 0 ? undefined : Math.min(...known))}</td>
                <td class="right">{write(format, known.length === 0 ? undefined : Math.max(...known))}</td>
              </tr>
            );
          }),
        )}
      </tbody>
    </table>
  );
}

function write(format: Chart['format'], value: number | undefined): string {
  return value === undefined ? '–' : format(value);
}
