import type { Figure } from '../campaign.ts';
import { none, told } from '../campaign.ts';
import type { Scanned } from '../leak-scanner.ts';

/** What the scanner saw in all that the other campaigns were told. */
export function reportLeaks(scanned: Scanned): readonly Figure[] {
  return [
    told('replies scanned', scanned.replies),
    told('log lines scanned (for secrets)', scanned.logLines),
    told('secrets planted', scanned.planted),
    none('secrets seen', scanned.secretHits),
    none('machine paths seen', scanned.pathHits),
    none('engine text seen', scanned.engineHits),
  ];
}
