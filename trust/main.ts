import type { Figure } from './campaign.ts';
import { PLAN } from './campaigns.ts';
import type { Planned } from './campaigns.ts';
import { reportLeaks } from './campaigns/leaks.ts';
import { addScanned } from './leak-scanner.ts';
import type { Scanned } from './leak-scanner.ts';
import { formatFigures, keepResults } from './report.ts';
import type { Result } from './report.ts';
import { startCampaign } from './run-campaign.ts';
import type { Running } from './run-campaign.ts';

/** Names for groups of campaigns. */
const GROUPS: Readonly<Record<string, readonly string[]>> = { fuzz: ['arrow', 'json', 'sql', 'names'] };

const SEED = 20_261_115;
const AT_ONCE = 2;
const SHORT_MINUTES_MAX = 10;
const TOLD_EVERY_MILLISECONDS = 10_000;

interface Wanted {
  readonly names: readonly string[];
  readonly isShort: boolean;
  readonly seed: number;
  readonly part: number;
}

/** The results so far, stored after every campaign, so that nothing is lost if the run ends early. */
class Run {
  readonly #wanted: Wanted;
  readonly #results: Result[] = [];
  readonly #running = new Set<Running>();
  readonly #startedAt = performance.now();
  #scanned: Scanned | undefined;

  constructor(wanted: Wanted) {
    this.#wanted = wanted;
  }

  async runAll(planned: readonly Planned[]): Promise<void> {
    const timer = setInterval(() => this.#tellHowFar(), TOLD_EVERY_MILLISECONDS);
    // In the short form, times are not decisive, and no campaign needs the machine for itself.
    const isBeside = ({ isAlone }: Planned): boolean => this.#wanted.isShort || isAlone !== true;
    await this.#runQueue(planned.filter(isBeside), AT_ONCE);
    await this.#runQueue(
      planned.filter((each) => !isBeside(each)),
      1,
    );
    clearInterval(timer);
  }

  /** In plan order, whichever ended first. */
  results(): readonly Result[] {
    const place = ({ campaign }: Result): number => PLAN.findIndex(({ name }) => name === campaign);
    const sorted = this.#results.toSorted((one, other) => place(one) - place(other));
    if (this.#scanned === undefined) return sorted;
    const figures = reportLeaks(this.#scanned);
    const details = this.#scanned.leaks.map(({ where, what }) => `${where}: ${what}`);
    return [...sorted, { campaign: 'leaks', promise: 'nothing secret is told', seconds: 0, figures, details }];
  }

  seconds(): number {
    return Math.round((performance.now() - this.#startedAt) / 1000);
  }

  killAll(): void {
    for (const each of this.#running) each.kill();
  }

  async #runQueue(planned: readonly Planned[], atOnce: number): Promise<void> {
    const queue = [...planned];
    await Promise.all(
      Array.from({ length: atOnce }, async () => {
        for (let next = queue.shift(); next !== undefined; next = queue.shift()) await this.#runOne(next);
      }),
    );
  }

  async #runOne(planned: Planned): Promise<void> {
    const { isShort, seed, part } = this.#wanted;
    const running = await startCampaign(planned, {
      order: { isShort, seed, part, minutesMax: isShort ? SHORT_MINUTES_MAX : planned.minutesMax },
      report: (line) => this.#report(`${planned.name}: ${line}`),
    });
    this.#running.add(running);
    const { result, scanned } = await running.ended;
    this.#running.delete(running);
    this.#results.push(result);
    if (scanned !== undefined) this.#scanned = addScanned(this.#scanned, scanned);
    const missed = result.figures.filter(({ isMet }) => isMet === false).length;
    this.#report(`${planned.name}: ended after ${result.seconds} s, ${missed} missed`);
    await keepResults(this.results(), { ...this.#wanted, seconds: this.seconds() });
  }

  #tellHowFar(): void {
    this.#report([...this.#running].map((each) => `${each.name} ${each.howFar()}`).join(', '));
  }

  #report(line: string): void {
    const seconds = this.seconds();
    const clock = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
    process.stderr.write(`[${clock.padStart(5)}] ${line}\n`);
  }
}

/** `npm run trust` runs all; `npm run trust -- --short kills fuzz --seed=7` some, in short form, with another seed. */
async function main(): Promise<number> {
  const wanted = readArguments(process.argv.slice(2));
  const run = new Run(wanted);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      run.killAll();
      process.exit(1);
    });
  }
  const isWanted = ({ name, isLong }: Planned): boolean =>
    wanted.names.length === 0 ? wanted.isShort || isLong !== true : wanted.names.includes(name);
  await run.runAll(PLAN.filter(isWanted));
  const results = run.results();
  process.stdout.write(formatFigures(results, wanted));
  process.stdout.write(`\n${results.length} campaigns in ${run.seconds()} s\n`);
  const fails = ({ isMet, isOfTheMachine }: Figure): boolean =>
    isMet === false && !(wanted.isShort && isOfTheMachine === true);
  return results.some(({ figures }) => figures.some(fails)) ? 1 : 0;
}

function readArguments(given: readonly string[]): Wanted {
  const names: string[] = [];
  const numbers: Record<string, number> = { seed: SEED, part: 1 };
  let isShort = false;
  const rest = given.flatMap((word) => word.split('='));
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    const option = word.replace(/^--/, '');
    if (word === '--short') isShort = true;
    else if (word.startsWith('--') && option in numbers) numbers[option] = Number(rest.shift());
    else names.push(...(GROUPS[word] ?? [word]));
  }
  const unknown = names.filter((name) => PLAN.every((planned) => planned.name !== name));
  const { seed = Number.NaN, part = Number.NaN } = numbers;
  if (unknown.length > 0 || !Number.isSafeInteger(seed) || !(part > 0 && part <= 1)) {
    const known = PLAN.map(({ name }) => name).join(' ');
    process.stderr.write(
      `Not known: ${unknown.join(' ') || 'the number'}. Campaigns: ${known}. Options: --short, --seed N, --part 0.25.\n`,
    );
    process.exit(2);
  }
  return { names, isShort, seed, part };
}

process.exitCode = await main();
