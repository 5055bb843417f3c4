import { readFile, writeFile } from 'node:fs/promises';
import type { ClientSuite } from './client.ts';
import { countOutcomes, isFailure } from './outcome.ts';
import type { Outcome, Result } from './outcome.ts';

const PAGE = 'docs/clients.md';
const REMARK_MAX = 200;
const SUMMARY_HEAD = ['Client', 'Release', 'Service', 'Run on', 'Works', 'Explained', 'Fails'];

/** Rewrites the parts of the page that are about these clients; those of other clients stay. */
export async function writeDocs(suites: readonly ClientSuite[], results: readonly Result[]): Promise<void> {
  let page = await readFile(PAGE, 'utf8');
  for (const suite of suites) {
    const columns = toColumns(suite, results);
    if (columns.length === 0) continue;
    page = replacePart(page, `client-${suite.name}`, describeClient(suite, columns));
    page = replacePart(page, 'clients', replaceSummary(partOf(page, 'clients'), suite, columns));
  }
  await writeFile(PAGE, page);
}

/** Newest release first, and of each release one server before several nodes. */
function toColumns({ name, releases }: ClientSuite, results: readonly Result[]): readonly Result[] {
  const place = ({ release, service }: Result): number => 2 * releases.indexOf(release) + (service === 'one' ? 0 : 1);
  return results
    .filter(({ client, release }) => client === name && releases.includes(release))
    .toSorted((one, other) => place(one) - place(other));
}

function titleOf({ language, packageName }: ClientSuite): string {
  return `${language} \`${packageName}\``;
}

/** Explained are the methods that the client refuses, that are not offered, or that fail with a known reason. */
function toSummary(suite: ClientSuite, { release, service, date, outcomes }: Result): string {
  const { passed, failed, skipped } = countOutcomes(outcomes);
  const where = service === 'one' ? 'one server' : 'three nodes';
  return toRow([titleOf(suite), release, where, date, ...[passed, skipped, failed].map(String)]);
}

/** Keeps the rows of other clients. */
function replaceSummary(before: string, suite: ClientSuite, columns: readonly Result[]): string {
  const [head, line] = [toRow(SUMMARY_HEAD), toRow(SUMMARY_HEAD.map(() => '---'))];
  const rows = before.split('\n').filter((row) => row.startsWith('| ') && row !== head && row !== line);
  const others = rows.filter((row) => !row.startsWith(`| ${titleOf(suite)} |`));
  return [head, line, ...others, ...columns.map((each) => toSummary(suite, each))].join('\n');
}

function describeClient(suite: ClientSuite, columns: readonly Result[]): string {
  const head = ['Method', ...columns.map(({ release, service }) => `${release}${service === 'one' ? '' : ', nodes'}`)];
  const methods = [...new Set(columns.flatMap(({ outcomes }) => outcomes.map(({ method }) => method)))];
  const tables = [...new Set(methods.map(groupOf))].map((group) => {
    const own = methods.filter((method) => groupOf(method) === group);
    const rows = own.map((method) => toRow(toCells(method, columns)));
    return [`### ${group}`, '', toRow([...head, 'Remark']), toRow([...head, ''].map(() => '---')), ...rows].join('\n');
  });
  return [`## ${titleOf(suite)}`, ...tables].join('\n\n');
}

/** The class of a method. */
function groupOf(method: string): string {
  return method.includes('.') ? method.slice(0, method.indexOf('.')) : 'Others';
}

function toCells(method: string, columns: readonly Result[]): readonly string[] {
  const outcomes = columns.map((each) => each.outcomes.find((outcome) => outcome.method === method));
  const group = groupOf(method);
  const name = method.startsWith(`${group}.`) ? method.slice(group.length + 1) : method;
  return [`\`${name}\``, ...outcomes.map((each) => each?.outcome ?? ''), remarkOf(outcomes)];
}

function remarkOf(outcomes: readonly (Outcome | undefined)[]): string {
  const said = outcomes.find((each) => each !== undefined && (each.explained !== undefined || isFailure(each)));
  const other = outcomes.find((each) => each?.outcome !== 'works' && each?.detail !== undefined);
  const remark = said?.explained ?? said?.detail ?? other?.detail ?? '';
  return reasonOf(remark).replaceAll(/\s+/g, ' ').slice(0, REMARK_MAX);
}

/** Of a refusal, what it says. Clients put the whole reply into their error. */
function reasonOf(text: string): string {
  const detail = /"detail":("(?:[^"\\]|\\.)*")/.exec(text)?.[1];
  return detail === undefined ? text : String(JSON.parse(detail));
}

function toRow(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

function markersOf(name: string): readonly [string, string] {
  return [`<!-- list:${name} -->`, `<!-- /list:${name} -->`];
}

function partOf(page: string, name: string): string {
  const [start, end] = markersOf(name);
  return page.includes(start) ? page.slice(page.indexOf(start) + start.length, page.indexOf(end)) : '';
}

/** A part that the page does not have yet comes last. */
function replacePart(page: string, name: string, text: string): string {
  const [start, end] = markersOf(name);
  if (!page.includes(start)) return `${page.trimEnd()}\n\n${start}\n\n${text}\n\n${end}\n`;
  return `${page.slice(0, page.indexOf(start) + start.length)}\n\n${text}\n\n${page.slice(page.indexOf(end))}`;
}
