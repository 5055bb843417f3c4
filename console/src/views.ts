import type { ComponentType } from 'preact';
import type { Route } from './router.ts';
import type { Session } from './session.ts';

export interface ViewProps {
  readonly session: Session;
  readonly route: Route;
}

export interface View {
  /** The first word of its address. */
  readonly id: string;
  /** As the navigation shows it; views without one are reached from others. */
  readonly label: string | undefined;
  /** Each view is a part of the script by itself, loaded when it is first shown. */
  readonly load: () => Promise<ComponentType<ViewProps>>;
}

export const VIEWS: readonly View[] = [
  { id: '', label: 'Tables', load: async () => (await import('./browse/browse-view.tsx')).BrowseView },
];
