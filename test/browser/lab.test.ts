import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { columnsToStream } from '../../src/formats/arrow/arrow-stream.ts';
import { Field, FixedSizeList, Float32, Int32, Utf8, toStream } from '../support/arrow-tables.ts';
import type { Column } from '../support/arrow-tables.ts';
import { noBrowser } from '../support/browser.ts';
import type { Browser } from '../support/browser.ts';
import { Client } from '../support/client.ts';
import { PRODUCTS, takePicture } from '../support/console.ts';
import { openConsole } from '../support/console-page.ts';
import { becomes } from '../support/page-state.ts';
import { startServer } from '../support/server.ts';
import type { TestServer } from '../support/server.ts';

const ROWS = 20_000;
const DIMENSION = 32;
const WORDS = ['amber', 'basalt', 'cedar', 'delta', 'ember', 'flint', 'grove', 'harbour'];

let server: TestServer;
let browser: Browser;
let client: Client;

suite('the lab', { skip: noBrowser }, () => {
  before(async () => {
    server = await startServer({ flags: ['--maintenance-running-max=0', '--index-tuning-seconds-min=60'] });
    client = new Client(server.url);
    await client.arrow('/v1/table/stones/create', stones(ROWS));
    browser = await openConsole();
  });
  after(async () => {
    await browser.close();
    await server.close();
  });

  const open = async (address: string): Promise<void> => {
    await browser.page.goto('about:blank');
    await browser.page.goto(`${server.url}/ui/#/lab${address}`);
  };

  test('a table is chosen, and its first rows are shown', async () => {
    const { page } = browser;
    await open('');
    await page.getByRole('button', { name: 'stones' }).click();
    const grid = page.getByRole('grid', { name: 'Results' });
    await grid.waitFor();
    await becomes(async () => grid.locator('tbody tr').count(), 10);
    await becomes(async () => page.getByRole('status').first().innerText(), /10 rows in/);
  });

  test('a typed filter, columns and k appear in the address and return their rows', async () => {
    const { page } = browser;
    await open('/stones');
    await page.getByRole('textbox', { name: 'Filter' }).fill('shelf = 7');
    await page.getByRole('button', { name: 'title', exact: true }).click();
    await page.getByLabel('Rows (k)').fill('3');
    await page.getByRole('button', { name: 'Run' }).click();
    await page.getByText('3 rows').waitFor();
    assert.deepEqual(await page.getByRole('grid').locator('th').allInnerTexts(), ['title']);
    assert.match(page.url(), /filter=shelf\+%3D\+7.*columns=title|columns=title.*filter=shelf\+%3D\+7/);
  });

  test('a column whose name has a comma is chosen, sorted by and kept in the address', async () => {
    const { page } = browser;
    const columns = ['a', 'b', 'a,b', ' d,e'].map((name) => ({
      name,
      type: 'utf8',
      values: [`1${name}`, `2${name}`],
    }));
    const made = await client.arrow('/v1/table/commas/create', columnsToStream(columns));
    assert.equal(made.status, 200, made.text);
    await open('/commas?search=none');
    for (const name of ['a,b', '` d,e`']) await page.getByRole('button', { name, exact: true }).click();
    await page.getByLabel('Order by').fill('`a,b` desc, a');
    await page.getByRole('button', { name: 'Run' }).click();
    const heads = page.getByRole('grid').locator('th');
    await becomes(async () => (await heads.allInnerTexts()).map((text) => text.trim()), ['a,b', 'd,e']);
    await becomes(async () => page.locator('[data-cell="0:0"]').innerText(), '2a,b');
    await page.reload();
    await becomes(async () => page.locator('.chip[aria-pressed=true]').allInnerTexts(), ['a,b', '` d,e`']);
  });

  test('a refusal of the server is shown next to the filter', async () => {
    const { page } = browser;
    await open('/stones?filter=%22shelf%22+%3D+7');
    await page.getByRole('alert').first().waitFor();
    assert.match(await page.getByRole('alert').first().innerText(), /filter/i);
  });

  test('a reader sees what would be better, and why the button for it is grey', async () => {
    const grants = [{ role: 'reader', database: 'default' }];
    const { json } = await client.post('/v1/access/key/create', { name: 'reports', grants });
    const reader = await openConsole(json.key);
    try {
      await reader.page.goto(`${server.url}/ui/#/lab/stones?search=vector&tab=plan&columns=id`);
      const button = reader.page.getByRole('button', { name: 'Create an index of type IVF_PQ on vec' });
      await button.and(reader.page.locator('[aria-disabled=true]')).waitFor();
      assert.equal(await button.getAttribute('title'), 'Needs the writer role on stones.');
    } finally {
      await reader.close();
    }
  });

  test('a search without an index is detected, fixed with one button, and then rated well', async () => {
    const { page } = browser;
    await open('/stones?search=vector&tab=plan&columns=id%2C+title');
    const findings = page.getByRole('region', { name: 'Findings' });
    await findings.getByText('No vector index was used').waitFor();
    const tree = page.getByRole('tree', { name: 'Plan' });
    assert.match((await tree.getByRole('treeitem').allTextContents()).join(' '), /Compare vectors/);
    await takePicture(page, 'lab-plan');
    await findings.getByRole('button', { name: 'Create an index of type IVF_PQ on vec' }).click();
    await page.getByRole('treeitem', { name: /Search the vector index/ }).waitFor();
    assert.equal(await findings.getByText('No vector index was used').count(), 0);
    assert.match(await page.getByText(/^recall \d+%$/).innerText(), /recall/);
  });

  test('a query on a branch gets the findings of that branch, and their buttons change that branch', async () => {
    const { page } = browser;
    await client.arrow('/v1/table/slabs/create', stones(ROWS));
    await client.post('/v1/table/slabs/branches/create', { name: 'trial' });
    await client.post('/v1/table/slabs/create_index', { column: 'id', index_type: 'BTREE', name: 'of_main' });
    await open('/slabs?tab=plan&columns=title&filter=id+%3D+19990&branch=trial');
    const findings = page.getByRole('region', { name: 'Findings' });
    await findings.getByRole('heading', { level: 3 }).waitFor();
    assert.equal(await findings.getByRole('heading', { level: 3 }).innerText(), 'The filter reads every row');
    await findings.getByRole('button', { name: 'Create an index of type BTREE on id on the branch trial' }).click();
    await page.getByText('No problems found in this plan.').waitFor();
    const names = async (branch: object): Promise<unknown> =>
      (await client.post('/v1/table/slabs/index/list', branch)).json.indexes.map(
        ({ index_name: name }: { index_name: string }) => name,
      );
    assert.deepEqual([await names({}), await names({ branch: 'trial' })], [['of_main'], ['id_idx']]);
  });

  test('arrow keys walk along the lines of the plan', async () => {
    const { page } = browser;
    await open('/stones?search=vector&tab=plan&columns=id');
    const tree = page.getByRole('tree', { name: 'Plan' });
    await tree.waitFor();
    const top = tree.getByRole('treeitem').first();
    await top.focus();
    await page.keyboard.press('ArrowDown');
    await tree.locator('[aria-level="2"]:focus').waitFor();
    await page.keyboard.press('ArrowUp');
    await tree.locator('[aria-level="1"]:focus').waitFor();
    await page.getByRole('radiogroup', { name: 'How to show the plan' }).getByText('Outline').click();
    await page
      .getByRole('row', { name: /Search the vector index/ })
      .first()
      .waitFor();
  });

  test('a setting that a finding proposes is put into the form, and the query is run again', async () => {
    const { page } = browser;
    await open('/stones?search=vector&tab=plan&columns=id&filter=shelf+%3D+7&prefilter=');
    await page.getByRole('button', { name: 'Filter before the search' }).click();
    await page.waitForURL((url) => !url.hash.includes('prefilter='));
    await page.getByText('The filter left fewer rows than requested').waitFor({ state: 'detached' });
    await becomes(async () => page.getByLabel('Filter before the search').isChecked(), true);
  });

  test('two plans are shown side by side, with their recall', async () => {
    const { page } = browser;
    await open('/stones?search=vector&tab=compare&columns=id&nprobes=1');
    await page.getByRole('tree', { name: 'Plan B' }).waitFor();
    await page.getByRole('row', { name: /^Time/ }).waitFor();
    const recall = await page.getByRole('row', { name: /^Recall/ }).innerText();
    assert.match(recall, /\d+%\s+100%/);
    await takePicture(page, 'lab-compare');
  });

  test('a search by words, and by both, has its plan', async () => {
    const { page } = browser;
    await open('/stones?search=text&words=amber&wordsColumn=title&tab=plan&columns=id');
    await page.getByText('The full-text search used no index').waitFor();
    await page.getByRole('button', { name: 'Create a full-text index on title' }).click();
    await page.getByRole('treeitem', { name: /Search the full-text index/ }).waitFor();
    await open('/stones?search=hybrid&words=amber&tab=plan&columns=id');
    await page.getByRole('treeitem', { name: /Combine both rankings/ }).waitFor();
    await takePicture(page, 'lab-hybrid');
  });

  test('rows that came later are found out, and maintenance brings the index up to date', async () => {
    const { page } = browser;
    await client.arrow('/v1/table/stones/insert', stones(3000));
    await open('/stones?search=vector&tab=plan&columns=id');
    await page.getByText('Some rows are not in the index').waitFor();
    await page.getByRole('button', { name: 'Refresh the index vec_idx' }).click();
    await page.getByText('Some rows are not in the index').waitFor({ state: 'detached' });
  });

  test('a vector like that of a row finds the row itself first', async () => {
    const { page } = browser;
    await open('/stones?search=vector&source=row&like=id+%3D+4321&exact=1&columns=id');
    const grid = page.getByRole('grid', { name: 'Results' });
    await grid.waitFor();
    assert.match(await grid.locator('tbody tr').first().innerText(), /4321/);
    await takePicture(page, 'lab-results');
  });

  test('rows are ordered, by a column and by several', async () => {
    const { page } = browser;
    await open('/stones?columns=id%2C+shelf&k=3');
    await page.getByLabel('Order by').fill('shelf desc, id');
    await page.getByRole('button', { name: 'Run' }).click();
    await page.waitForURL(/order=shelf/);
    const cells = page.getByRole('grid', { name: 'Results' }).locator('tbody td[role=gridcell]');
    await cells.filter({ hasText: /^999$/ }).waitFor();
    assert.deepEqual(await cells.allInnerTexts(), ['499', '499', '499', '499', '999', '499']);
  });

  test('a fast search leaves out the rows that came after the index', async () => {
    const { page } = browser;
    const like = 'source=row&like=id+%3D+70000&columns=id&search=vector&k=1';
    await client.arrow('/v1/table/stones/insert', stones(1, 70_000));
    await open(`/stones?${like}`);
    const first = page.getByRole('grid', { name: 'Results' }).locator('tbody tr').first();
    await first.filter({ hasText: '70000' }).waitFor();
    await page.getByLabel('Indexed rows only (fast search)').check();
    await page.getByRole('button', { name: 'Run' }).click();
    await page.waitForURL(/fast=1/);
    await first.filter({ hasNotText: '70000' }).waitFor();
  });

  test('rows of another kind of search are not shown, and missing search text is asked for', async () => {
    const { page } = browser;
    await open('/stones?columns=id');
    const grid = page.getByRole('grid', { name: 'Results' });
    await grid.waitFor();
    await page.getByRole('radiogroup', { name: 'Search' }).getByText('Text').click();
    await page.getByRole('heading', { name: 'Run the query to see its result' }).waitFor();
    assert.equal(await grid.count(), 0);
    await page.getByRole('button', { name: 'Run' }).click();
    await page.getByRole('heading', { name: 'Enter search text.' }).waitFor();
    await becomes(async () => page.getByLabel('Search text').getAttribute('aria-invalid'), 'true');
    assert.equal(await grid.count(), 0);
    await page.getByRole('radiogroup', { name: 'Search' }).getByText('Scan').click();
    await page.getByRole('button', { name: 'Run' }).click();
    await grid.waitFor();
    await page.getByLabel('Rows (k)').fill('3');
    await page.getByText('The query has changed. Run it to update the result.').waitFor();
    await page.getByRole('button', { name: 'Run' }).click();
    await page.getByText('3 rows').waitFor();
    await becomes(async () => page.getByText('The query has changed').count(), 0);
  });

  test('pictures and long texts are shown as in the rows of the table', async () => {
    const { page } = browser;
    const { photo } = PRODUCTS;
    assert.ok(photo !== undefined);
    const note: Column = [new Utf8(), () => 'long '.repeat(200)];
    await client.arrow('/v1/table/album/create', toStream({ id: [new Int32(), (row) => row], photo, note }, 4));
    await open('/album');
    const grid = page.getByRole('grid', { name: 'Results' });
    await grid.locator('img').first().waitFor();
    await becomes(async () => grid.locator('img').count(), 3);
    assert.ok((await grid.locator('tbody tr').first().innerText()).length < 300);
    await grid.locator('tbody tr').first().locator('td').nth(1).dblclick();
    await page.getByRole('dialog', { name: 'photo' }).locator('img.picture').waitFor();
  });

  test('a comparison with a low recall says so, and does not call the plan good', async () => {
    const { page } = browser;
    await open('/stones?search=vector&tab=compare&columns=id&nprobes=1&k=100');
    const recall = await page.getByRole('row', { name: /^Recall/ }).innerText();
    const share = Number(/(\d+)%/.exec(recall)?.[1]);
    const findings = page.getByRole('region', { name: 'Findings' });
    await findings.waitFor();
    if (share < 90) assert.equal(await findings.getByText('No problems found').count(), 0);
    assert.ok(share < 90, recall);
  });

  test('several vectors are searched for at once, and each row names the one that found it', async () => {
    const { page } = browser;
    await open('/stones?search=vector&source=row&like=id+%3C+3&vectors=3&k=2&columns=id&exact=1');
    const grid = page.getByRole('grid', { name: 'Results' });
    await grid.waitFor();
    assert.deepEqual(
      (await grid.locator('th').allInnerTexts()).filter((name) => name === 'query_index'),
      ['query_index'],
    );
    assert.equal(await grid.locator('tbody tr').count(), 6);
    const { json } = await client.post(
      '/v1/table/stones/query',
      { filter: 'id = 5', k: 1, columns: { column_names: ['vec'] } },
      { accept: 'application/json' },
    );
    await page.getByText('Paste', { exact: true }).click();
    await page.getByLabel('32 numbers').fill(JSON.stringify([json.rows[0].vec, json.rows[0].vec]));
    await page.getByRole('button', { name: 'Run' }).click();
    await page.waitForURL(/source=paste/);
    await page.getByText('4 rows').waitFor();
  });

  test('nothing in the page complained', () => {
    const own = browser.complaints.filter((words) => !/status of 400/.test(words));
    assert.deepEqual(own, []);
  });
});

function stones(rows: number, firstId = 0): Uint8Array {
  const vectorType = new FixedSizeList(DIMENSION, new Field('item', new Float32(), true));
  return toStream(
    {
      id: [new Int32(), (row) => firstId + row],
      shelf: [new Int32(), (row) => row % 500],
      title: [new Utf8(), (row) => `${WORDS[row % 8]} ${WORDS[(row >> 4) % 8]}`],
      vec: [vectorType, (row) => Array.from({ length: DIMENSION }, (_unused, at) => component(firstId + row, at))],
    },
    rows,
  );
}

/** Forty clouds of points, the same in every run. */
function component(row: number, at: number): number {
  const far = Math.sin(row * 12.9898 + at * 78.233) * 43_758.5453;
  return Math.sin((row % 40) * 13 + at * at) + 0.6 * (far - Math.floor(far) - 0.5);
}
