// One table, four programs: Python loads it, Spark enriches it, JavaScript searches it, the console shows it.
// node examples/walkthrough/walkthrough.mjs --url http://127.0.0.1:2333 --key KEY
// With tables on an object store, Spark needs its options: --storage '{"aws_endpoint": "…", …}'
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';

const run = promisify(execFile);
const { values } = parseArgs({
  options: {
    url: { type: 'string', default: process.env.TILTYARD_URL ?? 'http://127.0.0.1:2333' },
    key: { type: 'string', default: process.env.TILTYARD_KEY },
    storage: { type: 'string', default: '{}' },
    /** One JSON object per step, for programs. */
    outcomes: { type: 'boolean', default: false },
  },
});
const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const env = { ...process.env, TILTYARD_URL: values.url, TILTYARD_KEY: values.key };
const start = async (file, ...args) => (await run(file, args, { env, maxBuffer: 64 * 1024 * 1024 })).stdout;

/** Of Spark and the connector of Lance: given, or downloaded by Maven. */
async function findClasses() {
  const given = process.env.SPARK_CLASSPATH;
  if (given !== undefined) return readFileSync(given, 'utf8').trim();
  const file = resolve('build/walkthrough/classpath.txt');
  mkdirSync('build/walkthrough', { recursive: true });
  const goal = 'org.apache.maven.plugins:maven-dependency-plugin:3.6.1:build-classpath';
  await start('mvn', '-q', '-B', '-f', here('../../clients/spark/pom.xml'), goal, `-Dmdep.outputFile=${file}`);
  return readFileSync(file, 'utf8').trim();
}

/** Spark looks into these packages of the JDK. */
const OPENED = ['java.lang', 'java.lang.invoke', 'java.io', 'java.net', 'java.nio', 'java.util', 'java.util.concurrent'];

async function startSpark() {
  const opened = [...OPENED, 'java.util.concurrent.atomic', 'sun.nio.ch', 'sun.nio.cs', 'sun.security.action'];
  const opens = [...opened, 'sun.util.calendar'].map((name) => `--add-opens=java.base/${name}=ALL-UNNAMED`);
  const options = Object.entries(JSON.parse(values.storage)).map(([name, value]) => `${name}=${value}`);
  return start('java', '-Xmx1g', ...opens, '-cp', await findClasses(), here('Enrich.java'), ...options);
}

const steps = [
  ['Python loads', async () => start(process.env.PYTHON ?? 'python3', here('load.py')), 'loaded 200 rows'],
  ['Spark enriches', startSpark, 'the words of 250 rows'],
  ['JavaScript searches', async () => start(process.execPath, here('search.mjs')), /near 207\n.* 50 rows of Spark/],
  ['the console shows', async () => start(process.execPath, here('show.mjs')), /The console shows|Open http/],
];
for (const [name, step, expected] of steps) {
  let printed = '';
  let failure;
  try {
    printed = await step();
    const isExpected = typeof expected === 'string' ? printed.includes(expected) : expected.test(printed);
    if (!isExpected) failure = `It printed ${printed}`;
  } catch (error) {
    failure = `${error.message}`.slice(-600);
  }
  console.log(failure ?? printed.trim());
  const outcome = failure === undefined ? { outcome: 'works' } : { outcome: 'fails', detail: failure };
  if (values.outcomes) console.log(JSON.stringify({ method: `Walkthrough.${name}`, ...outcome }));
  else if (failure !== undefined) process.exit(1);
}
