import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { ClientError } from '../../../src/client/client-error.ts';
import type { TablePath } from '../../../src/model/identifier.ts';
import type { PlanStep } from '../../../src/model/query.ts';
import { readPlan } from '../../../src/plans/plan-steps.ts';
import type { ListSlowQueriesReply } from '../../../src/wire/operating/slow-queries.ts';
import { useClient } from '../api.ts';
import { PlanViews } from '../lab/plan/plan-views.tsx';
import { tableHash } from '../links.ts';
import { Button, LinkButton } from '../parts/button.tsx';
import { callerText } from '../parts/caller-name.ts';
import { Dialog } from '../parts/dialog.tsx';
import { ErrorBox } from '../parts/error-box.tsx';
import { formatAgo, formatMilliseconds, formatMoment } from '../parts/format.ts';
import { Heads, hidden, right } from '../parts/grid/pager.tsx';
import { Empty } from '../parts/states.tsx';
import { useLoad } from '../parts/use-load.ts';
import { usePolling } from './use-activity.ts';
import { EMPTY_FORM, toParameters } from '../lab/form/lab-form.ts';
import type { LabForm } from '../lab/form/lab-form.ts';
import { toHash } from '../router.ts';

const SHOWN_MAX = 50;
const DELIMITER = '$';

/** Slow queries with the cost of their steps; for administrators of the database. */
export function SlowQueries({ isPaused }: { readonly isPaused: boolean }): JSX.Element | null {
  const client = useClient();
  const [open, setOpen] = useState<SlowQuery>();
  const slow = useLoad(
    async () => client.json<ListSlowQueriesReply>('/v1/slow_queries/list', { json: { limit: SHOWN_MAX } }),
    [client],
  );
  usePolling(slow, isPaused);
  if (slow.error instanceof ClientError && slow.error.status === 403) return null;
  const found = slow.value?.slow_queries;
  return (
    <section class="card feed slow" aria-label="Slow queries">
      <h2>Slow queries</h2>
      <ErrorBox error={slow.error} />
      {found?.length === 0 ? (
        <Empty icon="check" title="No slow queries since the server started">
          <p>
            The setting <code>log.slowQuerySeconds</code> sets what counts as slow.
          </p>
        </Empty>
      ) : null}
      {found === undefined || found.length === 0 ? null : (
        <div class="scrolled">
          <table class="entries" aria-label="Slow queries, newest first">
            <Heads heads={['When', 'Table', 'Caller', right('Took'), 'Query', hidden('Actions')]} />
            <tbody>
              {found.map((each) => (
                <Line
                  key={`${each.request_id} ${each.ended_at}`}
                  slow={each}
                  caller={callerText(each.caller, each.caller_name)}
                  onOpen={() => setOpen(each)}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {open === undefined ? null : <Analysis slow={open} onClose={() => setOpen(undefined)} />}
    </section>
  );
}

interface LineProps {
  readonly slow: SlowQuery;
  readonly caller: string;
  readonly onOpen: () => void;
}

const STATES: Readonly<Record<string, string>> = { running: 'analyzing …', skipped: 'not analyzed' };

function Line({ slow, caller, onOpen }: LineProps): JSX.Element {
  const table = pathOf(slow);
  const ended = Date.parse(slow.ended_at);
  return (
    <tr>
      <td>
        <time class="muted" dateTime={slow.ended_at} title={formatMoment(ended)}>
          {formatAgo(ended)}
        </time>
      </td>
      <td>
        <a href={tableHash(table)}>{table.join(' / ')}</a>
      </td>
      <td>
        <span title={`${slow.caller}, request ${slow.request_id}`}>{caller}</span>
      </td>
      <td class="right">
        <strong>{formatMilliseconds(slow.duration_ms)}</strong>
      </td>
      <td>
        <Shape slow={slow} />
      </td>
      <td class="right">
        {planOf(slow) === undefined ? (
          <span class="muted">{STATES[slow.analysis_state] ?? ''}</span>
        ) : (
          <Button kind="quiet" onClick={onOpen} label={`Plan of the query of ${slow.table}, ${formatAgo(ended)}`}>
            Plan
          </Button>
        )}
        <LabLink slow={slow} kind="quiet" />
      </td>
    </tr>
  );
}

/** The server stores neither literals nor vectors. */
function Shape({ slow }: { readonly slow: SlowQuery }): JSX.Element {
  const entries = Object.entries(slow.query);
  return (
    <span class="pair-list">
      {slow.operation === 'query_table' ? null : <span>{slow.operation.replaceAll('_', ' ')}</span>}
      {entries.map(([name, value]) => (
        <span key={name} class="pair" title={`${name}: ${String(value)}`}>
          <span class="pair-name">{name.replaceAll('_', ' ')}</span>
          <span class="pair-value">{String(value)}</span>
        </span>
      ))}
    </span>
  );
}

interface LabLinkProps {
  readonly slow: SlowQuery;
  readonly kind: 'plain' | 'quiet';
}

function LabLink({ slow, kind }: LabLinkProps): JSX.Element | null {
  const address = labAddress(slow, pathOf(slow));
  if (address === undefined) return null;
  return (
    <LinkButton kind={kind} icon="search" href={address}>
      Open in the lab
    </LinkButton>
  );
}

interface AnalysisProps {
  readonly slow: SlowQuery;
  readonly onClose: () => void;
}

function Analysis({ slow, onClose }: AnalysisProps): JSX.Element | null {
  const plan = planOf(slow);
  if (plan === undefined) return null;
  const isRebuilt = labAddress(slow, pathOf(slow)) !== undefined;
  return (
    <Dialog title={`Query of ${pathOf(slow).join(' / ')}`} onClose={onClose} isWide>
      <div class="body slow-analysis">
        <p>
          It took <strong>{formatMilliseconds(slow.duration_ms)}</strong> on {formatMoment(Date.parse(slow.ended_at))}.
          The server then ran it again to measure its steps:
        </p>
        <Shape slow={slow} />
        <PlanViews plan={plan} text={slow.analysis.join('\n')} />
        <div class="actions">
          {isRebuilt ? (
            <LabLink slow={slow} kind="plain" />
          ) : (
            <span class="hint">
              The lab cannot run it again, because the server does not store literals and search text.
            </span>
          )}
        </div>
      </div>
    </Dialog>
  );
}

function pathOf({ table }: SlowQuery): TablePath {
  const [first = '', ...rest] = table.split(DELIMITER);
  return [first, ...rest];
}

function planOf(slow: SlowQuery): PlanStep | undefined {
  return slow.plan === undefined ? undefined : readPlan(slow.plan);
}

export type SlowQuery = ListSlowQueriesReply['slow_queries'][number];

/**
 * A link to the query in the lab. A random vector can replace the caller's; but without its literals, a filter or text
 * search would be a different query, so it has no link.
 */
function labAddress(slow: SlowQuery, table: TablePath): string | undefined {
  const query: Readonly<Record<string, unknown>> = { ...slow.query };
  const text = (name: string): string => {
    const value = query[name];
    return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  };
  const isKnown = slow.operation === 'query_table' && query['full_text'] === undefined && query['offset'] === undefined;
  if (!isKnown || text('filter').includes('?')) return undefined;
  const form: LabForm = {
    ...EMPTY_FORM,
    tab: 'plan',
    search: query['vectors'] === undefined ? 'none' : 'vector',
    vectors: text('vectors') === '' ? '1' : text('vectors'),
    column: text('vector_column'),
    filter: text('filter'),
    order: text('order_by'),
    k: text('k'),
    distance: text('distance_type'),
    nprobes: text('nprobes'),
    refine: text('refine_factor'),
    ef: text('ef'),
    prefilter: query['prefilter'] === false ? '' : '1',
    exact: query['bypass_vector_index'] === true ? '1' : '',
    fast: query['fast_search'] === true ? '1' : '',
  };
  return toHash('lab', table, toParameters(form));
}
