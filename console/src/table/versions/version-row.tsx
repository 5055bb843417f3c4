import type { JSX } from 'preact';
import { operationWords } from '../../../../src/client/history.ts';
import { tableHash } from '../../links.ts';
import { Button } from '../../parts/button.tsx';
import { callerText } from '../../parts/caller-name.ts';
import { formatAgo, formatBytes, formatCount, formatCountOf, formatMoment } from '../../parts/format.ts';
import { Icon } from '../../parts/icon.tsx';
import { MenuItem, Popover } from '../../parts/popover.tsx';
import { Badge } from '../../parts/states.tsx';
import { branchOf } from '../described-table.ts';
import type { DescribedTable } from '../described-table.ts';
import { comparisonHash } from './diff/diff-state.ts';
import { usePermissions } from '../../who.tsx';
import type { VersionEntry } from './version-entry.ts';

export type VersionAction =
  | { readonly kind: 'tag' | 'branch' | 'restore'; readonly version: number }
  | { readonly kind: 'delete-tag' | 'delete-branch'; readonly name: string };

interface VersionRowProps {
  readonly entry: VersionEntry;
  readonly table: DescribedTable;
  readonly isLatest: boolean;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
  readonly onAction: (action: VersionAction) => void;
}

export function VersionRow({ entry, table, isLatest, isChosen, onChoose, onAction }: VersionRowProps): JSX.Element {
  const { version, milliseconds, commit } = entry;
  const { write: refusal } = usePermissions(table.path);
  const at = { ...table.at, version };
  return (
    <li class={isChosen ? 'chosen' : undefined}>
      <input type="checkbox" aria-label={`Select version ${version}`} checked={isChosen} onChange={onChoose} />
      <span class={isLatest ? 'dot latest' : 'dot'} />
      <div class="what">
        <p>
          <a href={tableHash(table.path, 'rows', at)}>Version {version}</a>
          <span>{commit === undefined ? '' : operationWords(commit)}</span>
          {isLatest ? <Badge kind="accent">latest</Badge> : null}
          <Names entry={entry} refusal={refusal} onAction={onAction} />
        </p>
        <p class="muted">
          <time dateTime={new Date(milliseconds).toISOString()} title={formatMoment(milliseconds)}>
            {formatAgo(milliseconds)}
          </time>
          {commit === undefined ? '' : ` by ${callerText(commit.caller, commit.caller_name)}`}
        </p>
      </div>
      <Size entry={entry} />
      <Popover label={`Actions on version ${version}`} icon="more" kind="quiet" side="right">
        {(close) => (
          <div class="menu">
            <a class="item" href={tableHash(table.path, 'rows', at)}>
              <Icon name="table" /> Show rows
            </a>
            {version > 1 ? (
              <a
                class="item"
                href={comparisonHash(table.path, table.at, {
                  from: { ...branchOf(table), version: version - 1 },
                  to: { ...branchOf(table), version },
                })}
              >
                <Icon name="search" /> Show changes
              </a>
            ) : null}
            {ACTIONS.map(({ kind, icon, label }) => (
              <MenuItem key={kind} icon={icon} refusal={refusal} onClick={() => (close(), onAction({ kind, version }))}>
                {label}
              </MenuItem>
            ))}
          </div>
        )}
      </Popover>
    </li>
  );
}

const ACTIONS = [
  { kind: 'tag', icon: 'tag', label: 'Tag …' },
  { kind: 'branch', icon: 'branch', label: 'Create a branch …' },
  { kind: 'restore', icon: 'refresh', label: 'Restore …' },
] as const;

interface NamesProps {
  readonly entry: VersionEntry;
  readonly refusal: string | undefined;
  readonly onAction: (action: VersionAction) => void;
}

function Names({ entry, refusal, onAction }: NamesProps): JSX.Element {
  return (
    <>
      {entry.tags.map((name) => (
        <span key={`t:${name}`} class="named">
          <Badge kind="warn" icon="tag">
            {name}
          </Badge>
          <Button
            kind="quiet"
            icon="close"
            label={`Delete the tag ${name}`}
            refusal={refusal}
            onClick={() => onAction({ kind: 'delete-tag', name })}
          />
        </span>
      ))}
      {entry.branches.map((name) => (
        <span key={`b:${name}`} class="named">
          <Badge kind="good" icon="branch">
            {name}
          </Badge>
          <Button
            kind="quiet"
            icon="close"
            label={`Delete the branch ${name}`}
            refusal={refusal}
            onClick={() => onAction({ kind: 'delete-branch', name })}
          />
        </span>
      ))}
    </>
  );
}

function Size({ entry }: { readonly entry: VersionEntry }): JSX.Element {
  const { rows, change, bytes, fragments } = entry;
  return (
    <div class="size">
      <p>
        {change === undefined || change === 0 ? null : (
          <span class={change > 0 ? 'grown' : 'shrunk'}>
            {change > 0 ? '+' : '−'}
            {formatCount(Math.abs(change))}
          </span>
        )}{' '}
        {rows === undefined ? '' : formatCountOf(rows, 'row')}
      </p>
      <p class="muted">
        {bytes === undefined ? '' : formatBytes(bytes)}
        {fragments === undefined ? '' : ` in ${formatCountOf(fragments, 'fragment')}`}
      </p>
    </div>
  );
}
