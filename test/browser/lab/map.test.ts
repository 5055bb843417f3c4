import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { List } from 'apache-arrow';
import { Field, FixedSizeList, Float32, Float64, Int32, Utf8, toStream } from '../../support/arrow-tables.ts';
import { noBrowser } from '../../support/browser.ts';
import type { Browser } from '../../support/browser.ts';
import { Client } from '../../support/client.ts';
import { takePicture } from '../../support/console.ts';
import { openConsole } from '../../support/console-page.ts';
import { eventually } from '../../support/eventually.ts';
import { whenSettled } from '../../support/page-state.ts';
import { startServer } from '../../support/server.ts';
import type { TestServer } from '../../support/server.ts';

const ROWS = 1200;
const DIMENSION = 24;
const KINDS = ['star', 'planet', 'comet'];

let server: TestServer;
let browser: Browser;
let client: Client;

suite('the map of a vector column', { skip: noBrowser }, () => {
  before(async () => {
    server = await startServer({ flags: ['--maintenance-running-max=0'] });
    client = new Client(server.url);
    await client.arrow('/v1/table/sky/create', sky());
    browser = await openConsole();
  });
  after(async () => {
    await browser.close();
    await server.close();
  });

  const open = async (address: string): Promise<void> => {
    await browser.page.goto('about:blank');
    await browser.page.goto(`${server.url}/ui/#/lab/sky?${address}`);
    await browser.page.getByRole('img', { name: /^Map of/ }).waitFor();
    await whenSettled(browser.page);
  };
  const neighbours = () => browser.page.getByRole('grid', { name: 'Nearest rows' });
  const shownIds = async (): Promise<readonly string[]> => {
    await neighbours().waitFor();
    const heads = await neighbours().locator('th').allInnerTexts();
    const at = heads.findIndex((text) => text.startsWith('id')) + 1;
    return neighbours().locator(`tbody tr td:nth-child(${at})`).allInnerTexts();
  };
  /** What the API finds for the vector of a row. */
  const nearest = async (rowId: string, k: number): Promise<readonly string[]> => {
    const ask = async (body: object): Promise<any> =>
      (await client.post('/v1/table/sky/query', body, { accept: 'application/json' })).json.rows;
    const [row] = await ask({ filter: `_rowid IN (${rowId})`, columns: { column_names: ['vec'] } });
    const rows = await ask({ vector: { single_vector: row.vec }, k, columns: { column_names: ['id'] } });
    return rows.map(({ id }: { id: number }) => String(id));
  };
  const rowOfHeading = async (): Promise<string> => {
    const heading = browser.page.getByRole('heading', { name: /^Neighbours of row/ });
    await heading.waitFor();
    return (await heading.innerText()).replace('Neighbours of row ', '');
  };

  test('points have the colours of a column, with a legend', async () => {
    const { page } = browser;
    await open('tab=map&colour=kind');
    await page.getByText('1,200 points').waitFor();
    const legend = page.getByRole('group', { name: 'Colours of kind' });
    assert.deepEqual(await legend.getByRole('listitem').allInnerTexts(), ['comet 400', 'planet 400', 'star 400']);
    assert.deepEqual(Object.keys(await coloursOnCanvas()).length >= 3, true);
    await takePicture(page, 'lab-map');
    await open('tab=map&colour=price');
    await page.getByRole('group', { name: 'Colours of price' }).locator('.ramp').waitFor();
  });

  test('a click on a point lists its neighbours, which are those that the API finds', async () => {
    const { page } = browser;
    await open('tab=map&k=6&columns=id%2C+kind&colour=kind');
    await clickPoint();
    const rowId = await rowOfHeading();
    const shown = await shownIds();
    assert.equal(shown.length, 6);
    assert.deepEqual(shown, await nearest(rowId, 6));
    await takePicture(page, 'lab-map-neighbours');
    await page.getByRole('button', { name: 'Deselect the point' }).click();
    await neighbours().waitFor({ state: 'detached' });
  });

  test('the pointer over a point shows its row', async () => {
    const { page } = browser;
    await open('tab=map&colour=kind');
    const { x, y } = await findPointOnPage();
    await page.mouse.move(x, y);
    await page.locator('.map-tip dl').waitFor();
    assert.match(await page.locator('.map-tip').innerText(), /kind\s+(star|planet|comet)/);
  });

  test('a larger table is sampled at even intervals, and a filter leaves rows out', async () => {
    const { page } = browser;
    await open('tab=map&points=100');
    await page.getByText(/^100 points of 1,200 rows/).waitFor();
    await open('tab=map&filter=kind+%3D+%27star%27');
    await page.getByText(/^400 points that pass the filter/).waitFor();
    await open('tab=map');
    await page.getByLabel('Points', { exact: true }).fill('1');
    await page.getByRole('button', { name: 'Draw' }).click();
    await page.getByText('Draw 2 to 20,000 points.').first().waitFor();
  });

  test('zooming changes the picture, and all points come back', async () => {
    const { page } = browser;
    await open('tab=map');
    const picture = async (): Promise<unknown> => page.evaluate("document.querySelector('canvas').toDataURL()");
    const before = await picture();
    await page.getByRole('button', { name: 'Zoom in' }).click();
    await eventually(async () => (await picture()) !== before);
    await page.getByRole('button', { name: 'Show all points' }).click();
    await eventually(async () => (await picture()) === before);
  });

  test('a row with several vectors is drawn at their mean or at the first of them', async () => {
    const { page } = browser;
    const made = await client.arrow('/v1/table/films/create', films());
    assert.equal(made.status, 200, made.text);
    await page.goto('about:blank');
    await page.goto(`${server.url}/ui/#/lab/films?tab=map&k=3&columns=id`);
    const map = page.getByRole('img', { name: /^Map of 60 rows/ });
    await map.waitFor();
    await page.getByText('left out: 1 row without a vector').waitFor();
    await whenSettled(page);
    const picture = async (): Promise<unknown> => page.evaluate("document.querySelector('canvas').toDataURL()");
    const mean = await picture();
    await clickPoint();
    assert.equal((await shownIds()).length, 3);
    await page.getByLabel('Point of a row').selectOption('first');
    await page.getByRole('button', { name: 'Draw' }).click();
    await page.waitForURL(/pool=first/);
    await neighbours().waitFor({ state: 'detached' });
    await map.waitFor();
    await eventually(async () => (await picture()) !== mean);
  });

  test('marks follow the theme', async () => {
    const { page } = browser;
    await open('tab=map&k=4&columns=id');
    await clickPoint();
    await neighbours().waitFor();
    const picture = async (): Promise<unknown> => page.evaluate("document.querySelector('canvas').toDataURL()");
    await page.mouse.move(0, 0);
    await whenSettled(page);
    const light = await picture();
    await page.emulateMedia({ colorScheme: 'dark' });
    await eventually(async () => (await picture()) !== light);
    await page.emulateMedia({ colorScheme: 'light' });
    await eventually(async () => (await picture()) === light);
  });

  test('the keyboard reaches every point through the list', async () => {
    const { page } = browser;
    await open('tab=map&k=4&columns=id');
    await page.getByText('List of points').focus();
    await page.keyboard.press('Enter');
    const first = page.getByRole('table', { name: 'Points of the map' }).getByRole('button').first();
    await first.waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    const rowId = await rowOfHeading();
    assert.equal(await first.innerText(), `Neighbours of row ${rowId}`);
    assert.deepEqual(await shownIds(), await nearest(rowId, 4));
  });

  test('it fits on a narrow screen', async () => {
    const { page } = browser;
    await page.setViewportSize({ width: 390, height: 800 });
    await open('tab=map&colour=kind&k=5');
    await clickPoint();
    await neighbours().waitFor();
    await whenSettled(page);
    assert.ok(Number(await page.evaluate("document.querySelector('main').scrollWidth")) <= 390);
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  test('nothing in the page complained', () => assert.deepEqual(browser.complaints, []));

  /** The colours of the picture and a place of each. */
  async function coloursOnCanvas(): Promise<Record<string, { x: number; y: number }>> {
    return (await browser.page.evaluate(`(() => {
      const canvas = document.querySelector('canvas');
      const { width, height } = canvas;
      const { data } = canvas.getContext('2d').getImageData(0, 0, width, height);
      const found = {};
      for (let at = 0; at < data.length; at += 4) {
        if (data[at + 3] < 200) continue;
        const colour = [data[at], data[at + 1], data[at + 2]].map((part) => part >> 5).join();
        found[colour] ??= { x: ((at / 4) % width) / devicePixelRatio, y: Math.floor(at / 4 / width) / devicePixelRatio };
      }
      return found;
    })()`)) as Record<string, { x: number; y: number }>;
  }

  async function findPointOnPage(): Promise<{ x: number; y: number }> {
    const canvas = browser.page.getByRole('img', { name: /^Map of/ });
    await canvas.scrollIntoViewIfNeeded();
    const box = await canvas.boundingBox();
    const [place] = Object.values(await coloursOnCanvas());
    assert.ok(box !== null && place !== undefined);
    return { x: box.x + place.x, y: box.y + place.y };
  }

  async function clickPoint(): Promise<void> {
    const { x, y } = await findPointOnPage();
    await browser.page.mouse.click(x, y);
  }
});

/** Rows with one to three vectors, and one without. */
function films(): Uint8Array {
  const vectorType = new FixedSizeList(4, new Field('item', new Float32(), true));
  const vectorOf = (row: number, shot: number): readonly number[] =>
    [1, 2, 3, 4].map((at) => Math.sin(row * at + shot * 2) + 1.5);
  return toStream(
    {
      id: [new Int32(), (row) => row],
      shots: [
        new List(new Field('item', vectorType, true)),
        (row) => (row === 60 ? null : Array.from({ length: 1 + (row % 3) }, (_unused, shot) => vectorOf(row, shot))),
      ],
    },
    61,
  );
}

/** Three clouds of points. */
function sky(): Uint8Array {
  const vectorType = new FixedSizeList(DIMENSION, new Field('item', new Float32(), true));
  const noise = (row: number, at: number): number => {
    const far = Math.sin(row * 12.9898 + at * 78.233) * 43_758.5453;
    return far - Math.floor(far) - 0.5;
  };
  return toStream(
    {
      id: [new Int32(), (row) => row],
      kind: [new Utf8(), (row) => KINDS[row % 3]],
      price: [new Float64(), (row) => row / 7],
      vec: [
        vectorType,
        (row) => Array.from({ length: DIMENSION }, (_unused, at) => Math.sin((row % 3) * 5 + at) * 2 + noise(row, at)),
      ],
    },
    ROWS,
  );
}
