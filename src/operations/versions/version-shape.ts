import type { TableVersion } from '../../engine/engine.ts';
import type { TableLocation } from '../../model/table.ts';
import type { TableVersionShape } from '../../wire/versions.ts';
import type { Services } from '../services.ts';

/** With the names that both client families read. */
export function toVersionShape(version: TableVersion): TableVersionShape {
  const milliseconds = Math.floor(version.committedAtMicroseconds / 1000);
  return {
    version: version.version,
    timestamp: toTimestamp(milliseconds, version.committedAtMicroseconds % 1000),
    timestamp_millis: milliseconds,
    metadata: { ...version.metadata },
    manifest_path: version.manifestPath,
  };
}

export async function toMeasuredShape(
  location: TableLocation,
  version: TableVersion,
  services: Services,
): Promise<TableVersionShape> {
  const bytes = await services.engine.versions.measure(location, version);
  return { ...toVersionShape(version), ...(bytes === undefined ? {} : { manifest_size: bytes }) };
}

/** Two commits may fall into one millisecond, so that the engine's microseconds are kept. */
function toTimestamp(milliseconds: number, microseconds: number): string {
  return new Date(milliseconds).toISOString().replace('Z', `${String(microseconds).padStart(3, '0')}Z`);
}
