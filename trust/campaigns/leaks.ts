import type { Figure } from '../campaign.ts';
import { none, told } from '../campaign.ts';
import type { LeakScanner } from '../leak-scanner.ts';

/** What the scanner saw in all that the other campaigns were told. */
export function reportLeaks(scanner: LeakScanner): readonly Figure[] {
  for (const { where, what } of scanner.leaks) process.stderr.write(`leak: ${where}: ${what}\n`);
  return [
    told('replies scanned', scanner.replies),
    told('log lines scanned (for secrets)', scanner.logLines),
    told('secrets planted', scanner.planted),
    none('secrets seen', scanner.secretHits),
    none('machine paths seen', scanner.pathHits),
    none('engine text seen', scanner.engineHits),
  ];
}
