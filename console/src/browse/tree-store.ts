import type { ApiClient } from '../../../src/client/api-client.ts';
import type { NamespacePath } from '../../../src/model/identifier.ts';
import { pageOfNamespaces, pageOfTables } from '../api.ts';
import { createContext } from 'preact';
import { useContext, useLayoutEffect, useState } from 'preact/hooks';

/** The loaded part of a namespace. */
export interface Inside {
  readonly namespaces: readonly string[];
  readonly tables: readonly string[];
  readonly nextNamespace: string | undefined;
  readonly nextTable: string | undefined;
  readonly isLoading: boolean;
  readonly error: unknown;
}

const PAGE_NAMES = 1000;

const UNKNOWN: Inside = {
  namespaces: [],
  tables: [],
  nextNamespace: undefined,
  nextTable: undefined,
  isLoading: true,
  error: undefined,
};

/** The loaded part of a database. Keys are names joined by slashes, which no name contains. */
export class TreeStore {
  readonly #client: ApiClient;
  readonly #insides = new Map<string, Inside>();
  /** The newest load of each namespace; results of earlier loads are discarded. */
  readonly #loads = new Map<string, symbol>();
  readonly #open = new Set<string>(['']);
  readonly #listeners = new Set<() => void>();

  constructor(client: ApiClient) {
    this.#client = client;
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /** Returns what is loaded, and starts loading the rest. */
  inside(namespace: NamespacePath): Inside {
    const known = this.#insides.get(keyOf(namespace));
    if (known !== undefined) return known;
    this.#insides.set(keyOf(namespace), UNKNOWN);
    void this.#load(namespace, UNKNOWN);
    return UNKNOWN;
  }

  isOpen(namespace: NamespacePath): boolean {
    return this.#open.has(keyOf(namespace));
  }

  setOpen(namespace: NamespacePath, isOpen: boolean): void {
    if (this.isOpen(namespace) === isOpen) return;
    if (isOpen) this.#open.add(keyOf(namespace));
    else this.#open.delete(keyOf(namespace));
    this.#notify();
  }

  /** Expands the parents of the object that the URL opened. */
  reveal(path: readonly string[]): void {
    for (let depth = 1; depth < path.length; depth += 1) this.setOpen(path.slice(0, depth), true);
  }

  loadMore(namespace: NamespacePath): void {
    const known = this.inside(namespace);
    if (known.isLoading || (known.nextNamespace === undefined && known.nextTable === undefined)) return;
    this.#change(namespace, { ...known, isLoading: true });
    void this.#load(namespace, known);
  }

  /** Shows the old contents until the new ones arrive. */
  async refresh(namespace: NamespacePath): Promise<void> {
    this.#change(namespace, { ...this.inside(namespace), isLoading: true });
    await this.#load(namespace, UNKNOWN);
  }

  async #load(namespace: NamespacePath, known: Inside): Promise<void> {
    const load = Symbol('load');
    this.#loads.set(keyOf(namespace), load);
    const change = (inside: Inside): void => {
      if (this.#loads.get(keyOf(namespace)) === load) this.#change(namespace, inside);
    };
    const isFirst = known.namespaces.length === 0 && known.tables.length === 0;
    try {
      const [namespaces, tables] = await Promise.all([
        isFirst || known.nextNamespace !== undefined
          ? pageOfNamespaces(this.#client, namespace, { limit: PAGE_NAMES, after: known.nextNamespace })
          : NO_PAGE,
        isFirst || known.nextTable !== undefined
          ? pageOfTables(this.#client, namespace, { limit: PAGE_NAMES, after: known.nextTable })
          : NO_PAGE,
      ]);
      change({
        namespaces: [...known.namespaces, ...namespaces.names],
        tables: [...known.tables, ...tables.names],
        nextNamespace: namespaces.next,
        nextTable: tables.next,
        isLoading: false,
        error: undefined,
      });
    } catch (error) {
      change({ ...known, isLoading: false, error });
    }
  }

  #change(namespace: NamespacePath, inside: Inside): void {
    this.#insides.set(keyOf(namespace), inside);
    this.#notify();
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}

const NO_PAGE = { names: [], next: undefined } as const;

export function keyOf(path: readonly string[]): string {
  return path.join('/');
}

export const TreeContext = createContext<TreeStore | undefined>(undefined);

/** Renders the component again when the tree changes. */
export function useTree(): TreeStore {
  const store = useContext(TreeContext);
  if (store === undefined) throw new Error('Only components of the view of tables read the tree.');
  const [, setRound] = useState(0);
  // Not after the paint: updates before it would be missed.
  useLayoutEffect(() => store.subscribe(() => setRound((before) => before + 1)), [store]);
  return store;
}
