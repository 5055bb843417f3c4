import type { Figure } from '../campaign.ts';
import { none, info } from '../campaign.ts';
import type { Scanned } from '../leak-scanner.ts';

/** What the scanner found in all replies of the other campaigns. */
export function reportLeaks(scanned: Scanned): readonly Figure[] {
  return [
    info('replies scanned', scanned.replies),
    info('log lines scanned (for secrets)', scanned.logLines),
    info('secrets planted', scanned.planted),
    none('secrets seen', scanned.secretHits),
    none('machine paths seen', scanned.pathHits),
    none('engine text seen', scanned.engineHits),
  ];
}
