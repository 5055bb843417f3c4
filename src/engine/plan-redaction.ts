import { locationUri } from '../model/table.ts';
import type { TableLocation } from '../model/table.ts';

const HIDDEN = '[hidden]';

/** What follows the address in the engine's line ends it: a path may hold commas itself. */
const ADDRESS = /^( *Lance\w+: (?:elapsed=[^,]*, )?uri=).*?(?=, (?:projection|row_id|range)\b|, metrics=\[|$)/gm;

/** Takes the locations of the machine out of an analysis: the address in the steps that read, and the table's own path. */
export function redactPlan(text: string, location: TableLocation): string {
  const path = locationUri(location)
    .replace(/^[a-z0-9+.-]+:\/\//i, '')
    .replace(/^\/+/, '');
  return text.replaceAll(path, HIDDEN).replaceAll(encodeURI(path), HIDDEN).replace(ADDRESS, `$1${HIDDEN}`);
}
