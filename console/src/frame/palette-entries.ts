import type { NamespacePath, TablePath } from '../../../src/model/identifier.ts';
import { findNames } from '../browse/table-names.ts';
import { loadHash, namespaceHash, tableHash } from '../links.ts';
import type { IconName } from '../parts/icon.tsx';
import { go, toHash } from '../router.ts';
import { VIEWS, isMainView } from '../views.ts';
import { meetsNeed } from '../who.tsx';
import type { Need, Who } from '../who.tsx';

export interface Entry {
  readonly id: string;
  readonly icon: IconName;
  readonly label: string;
  readonly note?: string;
  readonly run: () => void;
}

export interface EntryGroup {
  readonly title: string;
  readonly entries: readonly Entry[];
}

interface PaletteFacts {
  readonly text: string;
  readonly database: string;
  readonly who: Who | undefined;
  readonly tables: readonly TablePath[];
  readonly recent: readonly TablePath[];
  /** Actions of the frame. */
  readonly actions: readonly Entry[];
}

/** Per group; a search narrows them down. */
const SHOWN_MAX = 8;

/** The matching entries in groups, without empty ones. Without a text: recent tables, views and actions. */
export function findEntries({ text, database, who, tables, recent, actions }: PaletteFacts): readonly EntryGroup[] {
  const isBlank = text.trim() === '';
  const fits = ({ label }: Entry): boolean => words(text).every((word) => label.toLowerCase().includes(word));
  const groups: readonly EntryGroup[] = [
    { title: 'Recent tables', entries: (isBlank ? recent : []).map(toTableEntry) },
    { title: 'Tables', entries: (isBlank ? [] : findNames(tables, text)).slice(0, SHOWN_MAX).map(toTableEntry) },
    {
      title: 'Namespaces',
      entries: (isBlank ? [] : findNames(namespacesOf(tables), text)).slice(0, SHOWN_MAX).map(toNamespaceEntry),
    },
    { title: 'Views', entries: viewEntries(who, database).filter(fits) },
    { title: 'Actions', entries: [...ownActions(who, database), ...actions].filter(fits) },
  ];
  return groups.filter(({ entries }) => entries.length > 0);
}

function words(text: string): readonly string[] {
  return text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
}

function toTableEntry(table: TablePath): Entry {
  const namespace = table.slice(0, -1).join(' / ');
  return {
    id: `table ${table.join('/')}`,
    icon: 'table',
    label: table.at(-1) ?? '',
    ...(namespace === '' ? {} : { note: namespace }),
    run: () => go(tableHash(table)),
  };
}

function toNamespaceEntry(namespace: NamespacePath): Entry {
  return {
    id: `namespace ${namespace.join('/')}`,
    icon: 'folder',
    label: namespace.join(' / '),
    run: () => go(namespaceHash(namespace)),
  };
}

/** Namespaces with tables in or below them. */
function namespacesOf(tables: readonly TablePath[]): readonly NamespacePath[] {
  const found = new Map<string, NamespacePath>();
  for (const table of tables) {
    for (let depth = 1; depth < table.length; depth += 1) {
      const namespace = table.slice(0, depth);
      found.set(namespace.join('/'), namespace);
    }
  }
  return [...found.values()];
}

function viewEntries(who: Who | undefined, database: string): readonly Entry[] {
  return VIEWS.filter(isMainView)
    .filter(({ need }) => meetsNeed(who, need, database))
    .map(({ id, label, icon }) => ({ id: `view ${id}`, icon, label, run: () => go(toHash(id)) }));
}

interface OwnAction extends Omit<Entry, 'run'> {
  readonly need?: Need;
  readonly hash: string;
}

const ACTIONS: readonly OwnAction[] = [
  { id: 'load', icon: 'upload', label: 'Load a file into a table', need: 'writer', hash: loadHash([]) },
  { id: 'query', icon: 'search', label: 'Query a table', hash: toHash('lab') },
  { id: 'change', icon: 'edit', label: 'Update or delete rows', need: 'writer', hash: toHash('change') },
  { id: 'events', icon: 'play', label: 'Follow commits as they happen', hash: toHash('activity', ['events']) },
  {
    id: 'webhooks',
    icon: 'out',
    label: 'Create or edit webhooks',
    need: 'owner',
    hash: toHash('activity', ['webhooks']),
  },
  { id: 'keys', icon: 'key', label: 'Create or revoke keys', need: 'administrator', hash: toHash('access', ['keys']) },
  {
    id: 'grants',
    icon: 'user',
    label: 'Grant or remove roles',
    need: 'administrator',
    hash: toHash('access', ['grants']),
  },
  { id: 'quotas', icon: 'database', label: 'See quotas and usage', hash: toHash('access', ['quotas']) },
];

function ownActions(who: Who | undefined, database: string): readonly Entry[] {
  return ACTIONS.filter(({ need }) => meetsNeed(who, need, database)).map(({ id, icon, label, hash }) => ({
    id: `action ${id}`,
    icon,
    label,
    run: () => go(hash),
  }));
}
