import type { ComponentType } from 'preact';
import type { IconName } from './parts/icon.tsx';
import type { ViewProps } from './router.ts';
import type { Need } from './who.tsx';

export interface View {
  /** The first segment of its URL. */
  readonly id: string;
  /** Absent for views that are not in the navigation. */
  readonly label?: string;
  readonly icon: IconName;
  /** Its parent view in the navigation, whose component it shares. */
  readonly under?: string;
  /** The navigation hides it for callers without this role. */
  readonly need?: Need;
  /** Loads the code of the view on first use. */
  readonly load: () => Promise<ComponentType<ViewProps>>;
}

const loadTables: View['load'] = async () => (await import('./browse/tables-view.tsx')).TablesView;

export const VIEWS: readonly View[] = [
  { id: '', label: 'Tables', icon: 'table', load: loadTables },
  { id: 'namespace', icon: 'folder', under: '', load: loadTables },
  { id: 'table', icon: 'table', under: '', load: loadTables },
  {
    id: 'load',
    label: 'Load data',
    icon: 'upload',
    need: 'writer',
    load: async () => (await import('./load/load-view.tsx')).LoadView,
  },
  { id: 'lab', label: 'Lab', icon: 'flask', load: async () => (await import('./lab/lab-view.tsx')).LabView },
  {
    id: 'change',
    label: 'Change',
    icon: 'edit',
    need: 'writer',
    load: async () => (await import('./change/change-view.tsx')).ChangeView,
  },
  {
    id: 'activity',
    label: 'Activity',
    icon: 'chart',
    load: async () => (await import('./activity/activity-view.tsx')).ActivityView,
  },
  {
    id: 'nodes',
    label: 'Nodes',
    icon: 'node',
    need: 'server-administrator',
    load: async () => (await import('./nodes/nodes-view.tsx')).NodesView,
  },
  {
    id: 'access',
    label: 'Access',
    icon: 'key',
    load: async () => (await import('./access/access-view.tsx')).AccessView,
  },
];

/** A view of the navigation. */
export interface MainView extends View {
  readonly label: string;
}

export function isMainView(view: View): view is MainView {
  return view.label !== undefined;
}
