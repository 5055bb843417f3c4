import { placeLocation } from '../model/table.ts';
import type { Place } from '../model/table.ts';

const HIDDEN = '[hidden]';

/** What follows the address in the engine's line ends it: a path may hold commas itself. */
const ADDRESS = /^( *Lance\w+: (?:elapsed=[^,]*, )?uri=).*?(?=, (?:projection|row_id|range)\b|, metrics=\[|$)/gm;

/** Takes the places of the machine out of an analysis: the address in the steps that read, and the table's own path. */
export function redactPlan(text: string, place: Place): string {
  const location = placeLocation(place)
    .replace(/^[a-z0-9+.-]+:\/\//i, '')
    .replace(/^\/+/, '');
  return text.replaceAll(location, HIDDEN).replaceAll(encodeURI(location), HIDDEN).replace(ADDRESS, `$1${HIDDEN}`);
}
