import type { ComponentType } from 'preact';
import type { ViewProps } from './router.ts';

export interface View {
  /** The first word of its address. */
  readonly id: string;
  /** As the navigation shows it; views without one are reached from others. */
  readonly label: string | undefined;
  /** The view whose entry of the navigation it belongs to, and whose component it shares. */
  readonly under?: string;
  /** Each view is a part of the script by itself, loaded when it is first shown. */
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
  { id: 'access', label: 'Access', load: async () => (await import('./access/access-view.tsx')).AccessView },
];
