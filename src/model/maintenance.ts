import type { TableRecord } from './table.ts';

/** The property of a table that tells whether it is put in order without being asked. */
export const MAINTENANCE_PROPERTY = 'tiltyard.maintenance';

export const MAINTENANCE_PAUSED = 'paused';
export const MAINTENANCE_AUTOMATIC = 'automatic';

export function isMaintenancePaused({ properties }: Pick<TableRecord, 'properties'>): boolean {
  return properties[MAINTENANCE_PROPERTY] === MAINTENANCE_PAUSED;
}
