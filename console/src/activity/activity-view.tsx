import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { ClientError } from '../../../src/client/client-error.ts';
import { Button } from '../parts/button.tsx';
import { EventsTab } from '../events/events-tab.tsx';
import { WebhooksTab } from '../events/webhooks-tab.tsx';
import { ErrorBox } from '../parts/error-box.tsx';
import { Heads, right } from '../parts/grid/pager.tsx';
import { Icon } from '../parts/icon.tsx';
import { Skeleton } from '../parts/states.tsx';
import { useDocumentTitle } from '../parts/use-load.ts';
import { go, toHash } from '../router.ts';
import type { ViewProps } from '../router.ts';
import { meetsNeed, useWho } from '../who.tsx';
import { CommitsList, JobsList } from './activity-lists.tsx';
import { toCharts } from './charts.ts';
import type { Chart, Point } from './charts.ts';
import { LineChart } from './line-chart.tsx';
import type { Span } from './line-chart.tsx';
import { SlowQueries } from './slow-queries.tsx';
import { useFigures } from './use-activity.ts';

const TABS = [
  { id: 'overview', label: 'Overview', need: undefined },
  { id: 'events', label: 'Events', need: undefined },
  { id: 'webhooks', label: 'Webhooks', need: 'owner' },
] as const;

export function ActivityView({ route, session }: ViewProps): JSX.Element {
  useDocumentTitle('Activity');
  const who = useWho();
  const tabs = TABS.filter(({ need }) => meetsNeed(who, need, session.database));
  const shown = (tabs.find(({ id }) => id === route.segments[0]) ?? tabs[0])?.id;
  return (
    <div class="view activity">
      <h1>Activity</h1>
      <nav class="lab-tabs flat" aria-label="Parts of activity">
        {tabs.map(({ id, label }) => (
          <button key={id} type="button" aria-pressed={id === shown} onClick={() => go(toHash('activity', [id]))}>
            {label}
          </button>
        ))}
      </nav>
      {shown === 'overview' ? <Overview /> : null}
      {shown === 'events' ? <EventsTab query={route.query} /> : null}
      {shown === 'webhooks' ? <WebhooksTab /> : null}
    </div>
  );
}

function Overview(): JSX.Element {
  const [isPaused, setIsPaused] = useState(false);
  const [asTable, setAsTable] = useState(false);
  return (
    <>
      <header class="section-head">
        <span class="muted">{isPaused ? 'Paused' : 'Live, every 2 s'}</span>
        <span class="spring" />
        <Button icon="table" isPressed={asTable} onClick={() => setAsTable(!asTable)}>
          Show as table
        </Button>
        <Button icon={isPaused ? 'play' : 'pause'} isPressed={isPaused} onClick={() => setIsPaused(!isPaused)}>
          {isPaused ? 'Resume' : 'Pause'}
        </Button>
      </header>
      <Figures isPaused={isPaused} asTable={asTable} />
      <div class="feeds">
        <CommitsList isPaused={isPaused} />
        <JobsList isPaused={isPaused} />
        <SlowQueries isPaused={isPaused} />
      </div>
    </>
  );
}

interface FiguresProps {
  readonly isPaused: boolean;
  readonly asTable: boolean;
}

function Figures({ isPaused, asTable }: FiguresProps): JSX.Element {
  const { points, error } = useFigures(isPaused);
  const charts = useMemo(() => toCharts(points), [points]);
  const times = useMemo(() => points.map(({ at }) => at), [points]);
  if (error instanceof ClientError && [401, 403, 404].includes(error.status)) {
    return (
      <p class="note">
        <Icon name="info" />
        <span>
          Charts are shown to server administrators
          {error.status === 404 ? ', and metrics are turned off on this server' : ''}: see the setting{' '}
          <code>metrics.access</code>. Below are the jobs and changes that you may see.
        </span>
      </p>
    );
  }
  if (points.length === 0) return error === undefined ? <Skeleton /> : <ErrorBox error={error} />;
  return (
    <>
      <ErrorBox error={error} />
      {asTable ? (
        <FigureTable charts={charts} />
      ) : (
        <div class="charts">
          {charts.map((chart) => (
            <LineChart key={chart.title} chart={chart} times={times} span={spanOf(points)} />
          ))}
        </div>
      )}
    </>
  );
}

const SPAN_MILLISECONDS_MIN = 60_000;
const SPAN_MILLISECONDS_MAX = 900_000;

/** From the first measurement to the last, but at least a minute. */
function spanOf(points: readonly Point[]): Span {
  const to = points.at(-1)?.at ?? 0;
  const length = to - (points[0]?.at ?? to);
  return { from: to - Math.min(Math.max(length, SPAN_MILLISECONDS_MIN), SPAN_MILLISECONDS_MAX), to };
}

/** The figures as text: current, and over the observed time. */
function FigureTable({ charts }: { readonly charts: readonly Chart[] }): JSX.Element {
  return (
    <div class="scrolled" tabIndex={0} role="region" aria-label="Figures">
      <table class="entries">
        <caption class="hidden">Figures of the last 15 minutes</caption>
        <Heads heads={['Figure', right('Now'), right('Min'), right('Max')]} />
        <tbody>
          {charts.flatMap(({ title, lines, format }) =>
            lines.map(({ label, values }) => {
              const known = values.filter((value) => value !== null);
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
    </div>
  );
}

function write(format: Chart['format'], value: number | undefined): string {
  return value === undefined ? '–' : format(value);
}
