import type { JSX } from 'preact';
import type { Transaction } from '../../../src/wire/history/transactions.ts';
import { toHash } from '../router.ts';
import { callerText } from '../parts/caller-name.ts';
import { formatMoment } from '../parts/format.ts';

interface CommitLineProps {
  readonly commit: Transaction;
  /** The time, as the list formats it. */
  readonly time: string;
}

/** Who did what, and when. */
export function CommitLine({ commit, time }: CommitLineProps): JSX.Element {
  return (
    <li>
      <span class="caller" title={`${commit.caller}, request ${commit.request_id}`}>
        {callerText(commit.caller, commit.caller_name)}
      </span>
      <Deed commit={commit} />
      <span class="spring" />
      <time class="muted" title={formatMoment(Date.parse(commit.committed_at))}>
        {time}
      </time>
    </li>
  );
}

function Deed({ commit }: { readonly commit: Transaction }): JSX.Element {
  const { operation, id, version, branch } = commit;
  return (
    <span>
      {operation.replaceAll('_', ' ')}{' '}
      {version === undefined ? <strong>{id.join(' / ')}</strong> : <a href={toHash('table', id)}>{id.join(' / ')}</a>}
      {version === undefined ? null : <span class="muted"> version {version}</span>}
      {branch === undefined ? null : <span class="muted"> on {branch}</span>}
    </span>
  );
}
