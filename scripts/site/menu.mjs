import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Groups in menu order. Missing pages are omitted; unlisted pages come last. */
const GROUPS = [
  {
    title: 'Start',
    pages: [
      'docs/index.md',
      'docs/start.md',
      'docs/guides/lancedb-users.md',
      'docs/guides/python.md',
      'docs/guides/rust.md',
      'docs/guides/java.md',
      'docs/guides/spark.md',
    ],
  },
  {
    title: 'Guides',
    pages: [
      'docs/guides/loading.md',
      'docs/guides/moving-data.md',
      'docs/guides/querying.md',
      'docs/guides/embeddings.md',
      'docs/guides/indexes.md',
      'docs/guides/computed-columns.md',
      'docs/guides/materialized-views.md',
      'docs/guides/versions.md',
      'docs/guides/external-writers.md',
      'docs/guides/lance-namespace.md',
      'docs/guides/namespaces.md',
      'docs/guides/access.md',
      'docs/guides/quotas.md',
      'docs/guides/credential-vending.md',
      'docs/guides/events.md',
      'docs/guides/agents.md',
      'docs/guides/console.md',
      'docs/guides/command-line.md',
      'docs/guides/operating.md',
      'docs/guides/postgres.md',
      'docs/guides/limits.md',
      'docs/guides/several-nodes.md',
      'docs/guides/recovery.md',
    ],
    rest: /^docs\/guides\//,
  },
  {
    title: 'Reference',
    pages: [
      'docs/operations.md',
      'docs/errors.md',
      'docs/settings.md',
      'docs/metrics.md',
      'docs/commands.md',
      'docs/clients.md',
      'docs/conformance.md',
    ],
    rest: /^docs\/[^/]+$/,
  },
  {
    title: 'Background',
    pages: ['docs/how-it-works.md', 'docs/comparison.md', 'docs/trust.md', 'ARCHITECTURE.md', 'docs/code-map.md'],
    rest: /^docs\//,
  },
  { title: 'Project', pages: ['CHANGELOG.md', 'CONTRIBUTING.md'] },
];

/** Shorter than the headings of the pages. */
const NAMES = {
  'docs/index.md': 'Overview',
  'docs/guides/lancedb-users.md': 'For LanceDB users',
  'docs/guides/namespaces.md': 'Namespaces and tables',
  'docs/guides/access.md': 'Access',
};

/** The README introduces the repository; on the site, the start page does that. */
const ALIASES = { 'docs/index.md': ['README.md'] };

export function readMenu(root) {
  const named = new Set(GROUPS.flatMap(({ pages }) => pages));
  const unnamed = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .map((file) => `docs/${file.replaceAll('\\', '/')}`)
    .filter((file) => file.endsWith('.md') && !named.has(file))
    .toSorted();
  return GROUPS.map(({ title, pages, rest }) => {
    const own = pages.filter((file) => existsSync(join(root, file)));
    const others = rest === undefined ? [] : unnamed.filter((file) => rest.test(file));
    for (const file of others) unnamed.splice(unnamed.indexOf(file), 1);
    return { title, pages: [...own, ...others].map((source) => toPage(source, root)) };
  });
}

function toPage(source, root) {
  const text = readFileSync(join(root, source), 'utf8');
  const title = /^# (.+)$/m.exec(text)?.[1]?.replaceAll('`', '') ?? source;
  const address = source.replace(/^docs\//, '').replace(/\.md$/, '.html');
  const isOfProject = !source.startsWith('docs/');
  return {
    source,
    text,
    title,
    name: NAMES[source] ?? title,
    address: isOfProject ? address.toLowerCase() : address,
    aliases: ALIASES[source] ?? [],
  };
}
