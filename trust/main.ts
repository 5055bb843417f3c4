import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Campaign, Figure, Trust } from './campaign.ts';
import { access } from './campaigns/access.ts';
import { client } from './campaigns/client.ts';
import { fuzzArrow } from './campaigns/fuzz-arrow.ts';
import { fuzzJson } from './campaigns/fuzz-json.ts';
import { fuzzSql } from './campaigns/fuzz-sql.ts';
import { kills } from './campaigns/kills.ts';
import { linear } from './campaigns/linear.ts';
import { memory } from './campaigns/memory.ts';
import { names } from './campaigns/names.ts';
import { overload } from './campaigns/overload.ts';
import { races } from './campaigns/races.ts';
import { reportLeaks } from './campaigns/leaks.ts';
import { sync } from './campaigns/sync.ts';
import { LeakScanner } from './leak-scanner.ts';
import { formatFigures, keepResults } from './report.ts';
import type { Result } from './report.ts';
import { TRUST_KEY, startTrustServer } from './server.ts';

const CAMPAIGNS: readonly Campaign[] = [
  kills,
  races,
  linear,
  fuzzArrow,
  fuzzJson,
  fuzzSql,
  names,
  access,
  memory,
  overload,
  client,
  sync,
];

/** A word for several. */
const GROUPS: Readonly<Record<string, readonly string[]>> = { fuzz: ['arrow', 'json', 'sql', 'names'] };

const SEED = 20_261_115;
const DETAILS_PER_KIND = 3;

interface Wanted {
  readonly names: readonly string[];
  readonly isShort: boolean;
  readonly seed: number;
}

/** `npm run trust` runs all; `npm run trust -- --short kills fuzz --seed=7` some, in short form, from another seed. */
async function main(): Promise<number> {
  const wanted = readArguments(process.argv.slice(2));
  const scanner = new LeakScanner();
  scanner.plant(TRUST_KEY);
  const results: Result[] = [];
  for (const campaign of CAMPAIGNS) {
    if (wanted.names.length === 0 || wanted.names.includes(campaign.name)) {
      results.push(await runCampaign(campaign, wanted, scanner));
    }
  }
  results.push({
    campaign: 'leaks',
    promise: 'nothing secret is told',
    seconds: 0,
    figures: reportLeaks(scanner),
    details: [],
  });
  process.stdout.write(formatFigures(results));
  await keepResults(results, wanted);
  const fails = ({ isMet, isOfTheMachine }: Figure): boolean =>
    isMet === false && !(wanted.isShort && isOfTheMachine === true);
  return results.some(({ figures }) => figures.some(fails)) ? 1 : 0;
}

function readArguments(given: readonly string[]): Wanted {
  const names: string[] = [];
  let isShort = false;
  let seed = SEED;
  for (const [index, word] of given.entries()) {
    if (word === '--short') isShort = true;
    else if (word === '--seed') seed = Number(given[index + 1]);
    else if (word.startsWith('--seed=')) seed = Number(word.slice('--seed='.length));
    else if (given[index - 1] !== '--seed') names.push(...(GROUPS[word] ?? [word]));
  }
  const unknown = names.filter((name) => name !== 'leaks' && CAMPAIGNS.every((campaign) => campaign.name !== name));
  if (unknown.length > 0 || !Number.isSafeInteger(seed)) {
    const known = CAMPAIGNS.map(({ name }) => name).join(' ');
    process.stderr.write(
      `Not known: ${unknown.join(' ') || 'the seed'}. Campaigns: ${known}. Options: --short, --seed N.\n`,
    );
    process.exit(2);
  }
  return { names, isShort, seed };
}

async function runCampaign(campaign: Campaign, { isShort, seed }: Wanted, scanner: LeakScanner): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), `tiltyard-trust-${campaign.name}-`));
  const stops: (() => Promise<unknown>)[] = [];
  const details: string[] = [];
  const counts = new Map<string, number>();
  const tell = (line: string): void => void process.stderr.write(`${campaign.name}: ${line}\n`);
  const trust: Trust = {
    seed,
    isShort,
    scanner,
    size: (full, short) => (isShort ? short : full),
    tell,
    blame(kind, detail) {
      const count = (counts.get(kind) ?? 0) + 1;
      counts.set(kind, count);
      if (count > DETAILS_PER_KIND) return;
      details.push(`${kind}: ${detail}`);
      tell(`${kind}: ${detail.slice(0, 600)}`);
    },
    async startServer(flags = [], env = {}) {
      const server = await startTrustServer({ folder: join(folder, `data${stops.length}`), scanner, flags, env });
      stops.push(async () => server.stop());
      return server;
    },
  };
  const startedAt = performance.now();
  let figures: readonly Figure[];
  try {
    figures = await campaign.run(trust);
  } catch (error) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    details.push(text);
    tell(text);
    figures = [{ name: 'ran to its end', value: 'no', goal: 'yes', isMet: false }];
  } finally {
    for (const stop of stops) await stop();
    await rm(folder, { recursive: true, force: true });
  }
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  return { campaign: campaign.name, promise: campaign.promise, seconds, figures, details };
}

process.exitCode = await main();
