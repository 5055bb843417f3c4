import type { ComponentType } from 'preact';
import type { ViewProps } from './router.ts';

export interface View {
  /** The first segment of its URL. */
  readonly id: string;
  /** Absent for views that are not in the navigation. */
  readonly label: string | undefined;
  /** The view that it belongs to in the navigation, and whose component it shares. */
  readonly under?: string;
  /** Loads the code of the view on first use. */
  readonly load: () => Promise<ComponentType<ViewProps>>;
}

const loadTables: View['load'] = async () => (await import('./browse/tables-view.tsx')).TablesView;

export const VIEWS: readonly View[] = [
  { id: '', label: 'Tables', load: loadTables },
  { id: 'namespace', label: undefined, under: '', load: loadTables },
  { id: 'table', label: undefined, under: '', load: loadTables },
  { id: 'load', label: 'Load data', load: async () => (await import('./load/load-view.tsx')).LoadView },
  { id: 'lab', label: 'Lab', load: async () => (await import('./lab/lab-view.tsx')).LabView },
  { id: 'change', label: 'Change', load: async () => (await import('./change/change-view.tsx')).ChangeView },
  { id: 'activity', label: 'Activity', load: async () => (await import('./activity/activity-view.tsx')).ActivityView },
  { id: 'nodes', label: 'Nodes', load: async () => (await import('./nodes/nodes-view.tsx')).NodesView },
  { id: 'access', label: 'Access', load: async () => (await import('./access/access-view.tsx')).AccessView },
];
