import { useLayoutEffect, useState } from 'preact/hooks';
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
  return { view, segments: segments.map(decodeSegment), query: new URLSearchParams(query) };
}

/** An unencoded segment, which a person may have typed, is used as the name. */
function decodeSegment(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
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

const routed = new Set<() => void>();

/** Shows the new view immediately. `hashchange` fires later, possibly after the next click. */
export function go(hash: string): void {
  location.hash = hash;
  for (const listener of routed) listener();
}

export function useRoute(): Route {
  const [hash, setHash] = useState(location.hash);
  // Not after the paint: a change before it would be missed.
  useLayoutEffect(() => {
    const onChange = (): void => setHash(location.hash);
    addEventListener('hashchange', onChange);
    routed.add(onChange);
    return () => {
      removeEventListener('hashchange', onChange);
      routed.delete(onChange);
    };
  }, []);
  return readRoute(hash);
}
