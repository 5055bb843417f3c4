import { parseArgs } from 'node:util';
import { runTool } from './commands.ts';
import type { ClientSuite, ServiceKind } from './client.ts';
import { countOutcomes, describeStates, isFailure } from './outcome.ts';
import type { Counts, Outcome } from './outcome.ts';
import { writeDocs } from './report.ts';
import { keepResult, readResults } from './results.ts';
import { runSuite } from './run-suite.ts';
import { SUITES } from './suites.ts';

interface Wanted {
  readonly suites: readonly ClientSuite[];
  /** Not all of them because none was named. */
  readonly isNamed: boolean;
  readonly kind: ServiceKind;
  /** `newest`, `all`, or one release. */
  readonly releases: string;
  readonly isShort: boolean;
  readonly writesDocs: boolean;
}

const DETAIL_MAX = 1000;

/**
 * `npm run clients` runs the newest release of every client against one server; `npm run clients -- python --nodes
 * --releases all --docs` all releases of one client against three nodes, and writes what it found to the docs.
 */
async function main(): Promise<number> {
  const wanted = readArguments(process.argv.slice(2));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  if (wanted.kind === 'nodes') await runTool(process.execPath, ['scripts/install-postgres.mjs']);
  const counts: Counts[] = [];
  for (const suite of wanted.suites) {
    if (suite.onRequest !== undefined && !wanted.isNamed) {
      say(`${suite.name}: skipped: ${suite.onRequest}`);
      continue;
    }
    for (const release of releasesOf(suite, wanted.releases)) counts.push(await runRelease(suite, release, wanted));
  }
  if (wanted.writesDocs) await writeDocs(wanted.suites, await readResults());
  const total = (of: keyof Counts): number => counts.reduce((sum, each) => sum + each[of], 0);
  say(`${total('passed')} passed, ${total('failed')} failed, ${total('skipped')} skipped`);
  return total('failed') === 0 ? 0 : 1;
}

async function runRelease(suite: ClientSuite, release: string, { kind, isShort }: Wanted): Promise<Counts> {
  const title = `${suite.name} ${release} (${kind === 'one' ? 'one server' : 'three nodes'})`;
  const onOutcome = (outcome: Outcome): void => {
    if (isFailure(outcome)) say(`  ${outcome.outcome}: ${outcome.method}: ${shorten(outcome.detail ?? '')}`);
  };
  say(`${title} …`);
  const result = await runSuite({ suite, release, kind, isShort, onOutcome });
  if ('skipped' in result) {
    say(`${title}: skipped: ${result.skipped}`);
    return { passed: 0, failed: 0, skipped: 1 };
  }
  await keepResult(result);
  say(`${title}: ${describeStates(result.outcomes)}, ${result.seconds} s`);
  return countOutcomes(result.outcomes);
}

function releasesOf({ releases }: ClientSuite, wanted: string): readonly string[] {
  if (wanted === 'all') return releases;
  return wanted === 'newest' ? releases.slice(0, 1) : [wanted];
}

function readArguments(given: string[]): Wanted {
  const { values, positionals } = parseArgs({
    args: given,
    allowPositionals: true,
    options: {
      nodes: { type: 'boolean', default: false },
      releases: { type: 'string', default: 'newest' },
      short: { type: 'boolean', default: false },
      docs: { type: 'boolean', default: false },
    },
  });
  const unknown = positionals.filter((name) => SUITES.every((suite) => suite.name !== name));
  if (unknown.length > 0) {
    const known = SUITES.map(({ name }) => name).join(' ');
    process.stderr.write(`Not known: ${unknown.join(' ')}. Clients: ${known}.\n`);
    process.exit(2);
  }
  return {
    isNamed: positionals.length > 0,
    suites: SUITES.filter(({ name }) => positionals.length === 0 || positionals.includes(name)),
    kind: values.nodes ? 'nodes' : 'one',
    releases: values.releases,
    isShort: values.short,
    writesDocs: values.docs,
  };
}

function shorten(text: string): string {
  return text.length > DETAIL_MAX ? `${text.slice(0, DETAIL_MAX)}…` : text;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

process.exitCode = await main();
