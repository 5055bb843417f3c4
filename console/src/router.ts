import { useEffect, useState } from 'preact/hooks';
import type { Session } from './session.ts';

export interface Route {
  /** The first segment after `#/`. */
  readonly view: string;
  /** The other segments, decoded. */
  readonly segments: readonly string[];
  readonly query: URLSearchParams;
}

export interface ViewProps {
  readonly session: Session;
  readonly route: Route;
}

/** URLs look like `#/table/spaces%24name/rows?version=3`: every state can be linked to. */
function readRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  const [view = '', ...segments] = path.split('/').filter((word) => word !== '');
  return { view, segments: segments.map(decodeURIComponent), query: new URLSearchParams(query) };
}

export function toHash(
  view: string,
  segments: readonly string[] = [],
  query: Readonly<Record<string, string>> = {},
): string {
  const path = [view, ...segments.map(encodeURIComponent)].join('/');
  const search = new URLSearchParams(query).toString();
  return `#/${path}${search === '' ? '' : `?${search}`}`;
}

export function go(hash: string): void {
  location.hash = hash;
}

export function useRoute(): Route {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const onChange = (): void => setHash(location.hash);
    addEventListener('hashchange', onChange);
    return () => removeEventListener('hashchange', onChange);
  }, []);
  return readRoute(hash);
}
