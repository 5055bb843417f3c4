import { parseJson } from '../strict-json.ts';
import type { TablePath } from '../identifier.ts';
import type { TableRecord } from '../table.ts';

/** Properties of a table that is a materialized view. Only the service sets them. */
export const VIEW_PROPERTY = 'tiltyard.view';
export const VIEW_STATE_PROPERTY = 'tiltyard.view.state';

/** When a view is refreshed, apart from requests. */
export type ViewRefresh =
  | { readonly mode: 'manual' }
  /** After the source has changed. */
  | { readonly mode: 'on_change' }
  | { readonly mode: 'schedule'; readonly seconds: number };

/** What a view consists of: rows of one table, filtered, projected and limited. */
export interface ViewDefinition {
  readonly sourceId: string;
  /** Its path when the view was created. */
  readonly source: TablePath;
  readonly filter?: string;
  readonly columns: readonly (readonly [name: string, expression: string])[];
  readonly limit?: number;
  readonly refresh: ViewRefresh;
}

/** Recorded together with the commit of a refresh. */
export interface ViewState {
  readonly sourceVersion: number;
  /** Milliseconds since 1970. */
  readonly refreshedAt: number;
  readonly how: 'rebuilt' | 'appended' | 'unchanged';
}

type Described = Pick<TableRecord, 'properties'>;

export function isView({ properties }: Described): boolean {
  return properties[VIEW_PROPERTY] !== undefined;
}

export function readViewDefinition({ properties }: Described): ViewDefinition | undefined {
  const text = properties[VIEW_PROPERTY];
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Written by the service alone.
  return text === undefined ? undefined : (parseJson(text) as ViewDefinition);
}

/** `undefined` before the first refresh. */
export function readViewState({ properties }: Described): ViewState | undefined {
  const text = properties[VIEW_STATE_PROPERTY];
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Written by the service alone.
  return text === undefined ? undefined : (parseJson(text) as ViewState);
}

/** The properties for a copy, which is a plain table. */
export function withoutView(properties: TableRecord['properties']): TableRecord['properties'] {
  const { [VIEW_PROPERTY]: _definition, [VIEW_STATE_PROPERTY]: _state, ...others } = properties;
  return others;
}
