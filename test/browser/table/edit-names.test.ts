import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { columnsToStream } from '../../../src/formats/arrow/arrow-stream.ts';
import { noBrowser } from '../../support/browser.ts';
import type { Browser } from '../../support/browser.ts';
import { Client } from '../../support/client.ts';
import { openConsole } from '../../support/console-page.ts';
import { whenSettled } from '../../support/page-state.ts';
import { startServer } from '../../support/server.ts';
import type { TestServer } from '../../support/server.ts';

/** Every object of JavaScript inherits properties with these names. */
const INHERITED = ['constructor', 'valueOf', 'toString', '__proto__'];

suite('columns with the names of inherited properties', { skip: noBrowser }, () => {
  let server: TestServer;
  let browser: Browser;
  let client: Client;

  before(async () => {
    server = await startServer({ flags: ['--maintenance-running-max=0'] });
    client = new Client(server.url);
    browser = await openConsole();
    const columns = [
      { name: 'id', type: 'int32', values: [1, 2] },
      { name: 'points', type: 'int32', values: [10, 20] },
      ...INHERITED.map((name) => ({ name, type: 'utf8', values: [`${name} 1`, null] })),
    ];
    const { status, text } = await client.arrow('/v1/table/teams/create', columnsToStream(columns));
    assert.equal(status, 200, text);
  });
  after(async () => {
    await browser.close();
    await server.close();
  });

  const read = async (): Promise<readonly (readonly [string, unknown][])[]> => {
    const query = { order_by: [{ column_name: 'id' }] };
    const { json } = await client.post('/v1/table/teams/query', query, { accept: 'application/json' });
    return json.rows.map((row: object) => Object.entries(row));
  };
  const row = (id: number, points: number, text: (name: string) => string | null) => [
    ['id', id],
    ['points', points],
    ...INHERITED.map((name) => [name, text(name)]),
  ];

  test('keep their values when another cell is edited, and are null in an added row', async () => {
    const { page } = browser;
    await page.goto(`${server.url}/ui/#/table/teams`);
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await page.getByRole('region', { name: 'Edits' }).waitFor();
    await whenSettled(page);
    const enter = async (place: string, column: string, text: string): Promise<void> => {
      await page.locator(`[data-cell="${place}"]`).dblclick();
      await page.getByLabel(`New value of ${column}`).fill(text);
      await page.keyboard.press('Enter');
    };
    await enter('0:2', 'points', '11');
    assert.equal(await page.locator('td.edited').count(), 1);
    await page.getByRole('button', { name: 'Add row' }).click();
    await enter('0:1', 'id', '3');
    await enter('0:2', 'points', '30');
    await enter('2:6', '__proto__', 'set');
    await page.getByRole('button', { name: 'Apply', exact: true }).click();
    await page.locator('.toast').filter({ hasText: '1 row added, 2 rows changed.' }).waitFor();
    assert.deepEqual(await read(), [
      row(1, 11, (name) => `${name} 1`),
      row(2, 20, (name) => (name === '__proto__' ? 'set' : null)),
      row(3, 30, () => null),
    ]);
  });

  test('are compared, also where they are null', async () => {
    const { page } = browser;
    await page.goto(`${server.url}/ui/#/table/teams?tab=versions&from=1&to=latest`);
    await page.getByRole('grid', { name: 'Rows that differ' }).waitFor();
    await whenSettled(page);
    const cells = page.getByRole('grid', { name: 'Rows that differ' }).getByRole('row');
    assert.match(await cells.filter({ hasText: 'added' }).innerText(), /added\t3\t30\tnull\tnull\tnull\tnull/);
  });

  test('nothing in the page complained', () => assert.deepEqual(browser.complaints, []));
});
