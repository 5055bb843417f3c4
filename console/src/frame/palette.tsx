import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { useClient } from '../api.ts';
import { NAMES_MAX, readAllNames } from '../browse/table-names.ts';
import { useModal } from '../parts/dialog.tsx';
import { formatCount } from '../parts/format.ts';
import { Icon } from '../parts/icon.tsx';
import { useLoad } from '../parts/use-load.ts';
import { useWho } from '../who.tsx';
import { findEntries } from './palette-entries.ts';
import type { Entry, EntryGroup } from './palette-entries.ts';
import { recentTables } from './recent-tables.ts';
import { switchTheme } from './theme.tsx';

export interface PaletteProps {
  readonly database: string;
  readonly onSignOut: () => void;
  readonly onShortcuts: () => void;
  readonly onClose: () => void;
}

/** Arrow keys move through the list while the focus stays in the field; Enter runs the marked entry. */
export function Palette({ database, onSignOut, onShortcuts, onClose }: PaletteProps): JSX.Element {
  const [text, setText] = useState('');
  const [mark, setMark] = useState(0);
  const groups = useEntries({ text, database, onSignOut, onShortcuts });
  const entries = groups.value.flatMap((group) => group.entries);
  const at = Math.min(mark, entries.length - 1);
  useEffect(() => {
    document.querySelector('#palette-list [aria-selected=true]')?.scrollIntoView({ block: 'nearest' });
  }, [at, text]);
  const [modal, close] = useModal(onClose);
  const run = (entry: Entry | undefined): void => {
    if (entry === undefined) return;
    close();
    entry.run();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const next = moveMark(event.key, at, entries.length);
    if (next === undefined && event.key !== 'Enter') return;
    event.preventDefault();
    if (next === undefined) run(entries[at]);
    else setMark(next);
  };
  return (
    <dialog {...modal} class="dialog palette" aria-label="Search tables and actions">
      <div class="search">
        <Icon name="search" />
        <input
          role="combobox"
          aria-label="Table, namespace, view or action"
          aria-expanded="true"
          aria-controls="palette-list"
          aria-activedescendant={entries[at] === undefined ? undefined : `entry-${at}`}
          aria-autocomplete="list"
          autocomplete="off"
          spellcheck={false}
          placeholder="Search tables and actions"
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value);
            setMark(0);
          }}
          onKeyDown={onKeyDown}
        />
      </div>
      <EntryList groups={groups.value} at={at} onRun={run} />
      <p class="hint" role="status">
        {groups.isLoading ? 'Loading table names …' : null}
        {!groups.isLoading && entries.length === 0 ? 'Nothing found. Try a part of a name.' : null}
        {groups.isCut ? `Searched the first ${formatCount(NAMES_MAX)} tables.` : null}
      </p>
    </dialog>
  );
}

type Wanted = Omit<PaletteProps, 'onClose'> & { readonly text: string };

function useEntries({ text, database, onSignOut, onShortcuts }: Wanted) {
  const client = useClient();
  const who = useWho();
  const names = useLoad(async () => readAllNames(client), [client]);
  const recent = useMemo(() => recentTables(database), [database]);
  const actions: readonly Entry[] = [
    { id: 'action theme', icon: 'moon', label: 'Change the theme', run: switchTheme },
    { id: 'action shortcuts', icon: 'help', label: 'Show keyboard shortcuts', run: onShortcuts },
    { id: 'action sign-out', icon: 'out', label: 'Sign out', run: onSignOut },
  ];
  const value = useMemo(
    () => findEntries({ text, database, who, tables: names.value?.tables ?? [], recent, actions }),
    [text, database, who, names.value, recent],
  );
  return { value, isLoading: names.isLoading && text.trim() !== '', isCut: names.value?.isCut === true };
}

interface EntryListProps {
  readonly groups: readonly EntryGroup[];
  readonly at: number;
  readonly onRun: (entry: Entry) => void;
}

function EntryList({ groups, at, onRun }: EntryListProps): JSX.Element {
  let count = 0;
  return (
    <div id="palette-list" class="entries-found" role="listbox" aria-label="Found">
      {groups.map(({ title, entries }) => (
        <div key={title} role="group" aria-label={title}>
          <p class="group-title" aria-hidden="true">
            {title}
          </p>
          {entries.map((entry) => {
            const index = count;
            count += 1;
            return (
              <div
                key={entry.id}
                id={`entry-${index}`}
                class="found-entry"
                role="option"
                aria-selected={index === at}
                onClick={() => onRun(entry)}
              >
                <Icon name={entry.icon} />
                <span class="name">{entry.label}</span>
                {entry.note === undefined ? null : <span class="muted">{entry.note}</span>}
              </div>
            );
          })}
        </div>
      ))}
    </div>
  );
}

const PAGE_ENTRIES = 8;

function moveMark(key: string, at: number, count: number): number | undefined {
  if (count === 0) return undefined;
  switch (key) {
    case 'ArrowDown':
      return (at + 1) % count;
    case 'ArrowUp':
      return (at + count - 1) % count;
    case 'PageDown':
      return Math.min(at + PAGE_ENTRIES, count - 1);
    case 'PageUp':
      return Math.max(at - PAGE_ENTRIES, 0);
    default:
      return undefined;
  }
}
