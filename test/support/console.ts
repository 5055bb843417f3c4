import { mkdir, writeFile } from 'node:fs/promises';
import {
  Binary,
  Bool,
  DateDay,
  Field,
  FixedSizeList,
  Float32,
  Float64,
  Int32,
  Int64,
  List,
  Struct,
  TimestampMillisecond,
  Utf8,
} from 'apache-arrow';
import type { Page } from 'playwright-core';
import { toStream } from './arrow-tables.ts';
import type { Column } from './arrow-tables.ts';
import type { Client } from './client.ts';
import { whenSettled } from './page-state.ts';
import { ADMIN_KEY } from './server.ts';

export async function signIn(page: Page, url: string): Promise<void> {
  await page.goto(`${url}/ui/`);
  await page.getByLabel('API key').fill(ADMIN_KEY);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Main' }).waitFor();
}

export async function signOut(page: Page): Promise<void> {
  await page.getByRole('button', { name: /administrator|visitor|Account/ }).click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('API key').waitFor();
}

const PICTURES = 'docs/pictures/console';
const SCREENSHOTS = 'build/screenshots';
const areWanted = process.env['TILTYARD_PICTURES'] === '1';

/** A picture for people who look at a change; taken only when `TILTYARD_PICTURES` is 1. */
export async function takeScreenshot(page: Page, name: string): Promise<void> {
  if (!areWanted) return;
  await whenSettled(page);
  await page.screenshot({ path: `${SCREENSHOTS}/${name.replaceAll(' ', '-')}.png`, animations: 'disabled' });
}

/** Pictures of a view for the docs, light and dark; taken only when `TILTYARD_PICTURES` is 1. */
export async function takePicture(page: Page, name: string): Promise<void> {
  if (!areWanted) return;
  await mkdir(PICTURES, { recursive: true });
  const before = page.viewportSize();
  await page.setViewportSize({ width: 1440, height: 900 });
  // Nothing is under the pointer, and nothing is on its way.
  await page.mouse.move(0, 0);
  await whenSettled(page);
  await page.evaluate("document.querySelector('.toasts').style.visibility = 'hidden'");
  for (const theme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: theme });
    await writeFile(`${PICTURES}/${name}-${theme}.png`, await page.screenshot({ animations: 'disabled' }));
  }
  await page.emulateMedia({ colorScheme: 'light' });
  await page.evaluate("document.querySelector('.toasts').style.visibility = ''");
  if (before !== null) await page.setViewportSize(before);
}

const WORDS = 'quiet amber river stone lantern copper winter meadow harbour signal velvet orchard'.split(' ');
const word = (index: number): string => WORDS[index % WORDS.length] ?? '';

/** A picture of one point, as GIF: the browser draws it as a square of this colour. */
function picture(row: number): Uint8Array {
  const colour = [90 + ((row * 53) % 140), 90 + ((row * 29) % 120), 110 + ((row * 83) % 130)];
  const head = [...Buffer.from('GIF89a'), 1, 0, 1, 0, 0x80, 0, 0];
  const point = [0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0, 0x3b];
  return Uint8Array.from([...head, ...colour, ...colour, ...point]);
}

/** Products with a column of every kind that the grid shows in its own way. */
export const PRODUCTS: Readonly<Record<string, Column>> = {
  id: [new Int64(), (row) => BigInt(row)],
  title: [new Utf8(), (row) => `${word(row)} ${word(row * 7 + 3)}`],
  price: [new Float64(), (row) => (row % 17 === 4 ? null : Math.round((3 + ((row * 37) % 900) / 7) * 100) / 100)],
  in_stock: [new Bool(), (row) => row % 3 !== 0],
  embedding: [
    new FixedSizeList(64, new Field('item', new Float32(), true)),
    (row) =>
      Array.from({ length: 64 }, (_unused, at) => Math.sin(((row + 2) * (at + 1)) / 40) + Math.cos(at * row) / 5),
  ],
  photo: [new Binary(), (row) => (row % 4 === 1 ? null : picture(row))],
  tags: [new List(new Field('item', new Utf8(), true)), (row) => [word(row), word(row + 5)]],
  size: [
    new Struct([new Field('width', new Float64(), true), new Field('height', new Float64(), true)]),
    (row) => (row % 9 === 4 ? null : { width: row % 40, height: (row * 3) % 25 }),
  ],
  added: [new TimestampMillisecond(), (row) => new Date(1_700_000_000_000 + row * 3_600_000)],
};

const PLAIN: Readonly<Record<string, Column>> = {
  id: [new Int32(), (row) => row],
  name: [new Utf8(), (row) => `${word(row)} ${row}`],
  day: [new DateDay(), (row) => new Date(1_700_000_000_000 + row * 86_400_000)],
};

/** Namespaces, tables, and a table with a history, tags, a branch and indexes. */
export async function fillShop(client: Client): Promise<void> {
  const post = async (path: string, body: unknown): Promise<void> => succeed(path, await client.post(path, body));
  const send = async (path: string, bytes: Uint8Array): Promise<void> => succeed(path, await client.arrow(path, bytes));
  for (const name of ['archive', 'media', 'shop']) {
    await post(`/v1/namespace/${name}/create`, {
      properties: { owner: `${name}@example.org`, purpose: 'demonstration' },
    });
  }
  await post('/v1/namespace/shop$eu/create', {});
  await fillProducts(post, send);
  const plain: readonly (readonly [string, number])[] = [
    ['shop$customers', 480],
    ['shop$orders', 1200],
    ['shop$returns', 60],
    ['shop$eu$stock', 300],
    ['media$photos', 700],
    ['readings', 5000],
  ];
  for (const [name, rows] of plain) await send(`/v1/table/${name}/create`, toStream(PLAIN, rows));
}

async function fillProducts(
  post: (path: string, body: unknown) => Promise<void>,
  send: (path: string, bytes: Uint8Array) => Promise<void>,
): Promise<void> {
  const table = '/v1/table/shop$products';
  await send(`${table}/create`, toStream(PRODUCTS, 2000));
  await send(`${table}/insert`, toStream(PRODUCTS, 400));
  await post(`${table}/tags/create`, { tag: 'spring', version: 2 });
  await post(`${table}/update`, { updates: [['price', 'price * 1.1']], predicate: 'id < 20' });
  await post(`${table}/branches/create`, { name: 'pricing', from_version: 3 });
  await post(`${table}/create_index`, {
    column: 'embedding',
    index_type: 'IVF_FLAT',
    distance_type: 'cosine',
    num_partitions: 4,
  });
  await post(`${table}/create_index`, { column: 'title', index_type: 'FTS' });
  await send(`${table}/insert`, toStream(PRODUCTS, 150));
  await post(`${table}/delete`, { predicate: 'id = 3' });
  await post(`${table}/update_field_metadata`, {
    updates: [
      { path: 'price', metadata: { unit: 'EUR', source: 'erp' } },
      { path: 'embedding', metadata: { model: 'demo-64' } },
    ],
  });
}

function succeed(path: string, { status, text }: { readonly status: number; readonly text: string }): void {
  if (status >= 300) throw new Error(`${path}: ${status} ${text}`);
}
