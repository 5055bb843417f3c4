import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { Page } from 'playwright-core';
import { columnsToStream } from '../../../src/formats/arrow/arrow-stream.ts';
import { sampleStream } from '../../support/arrow-tables.ts';
import { noBrowser } from '../../support/browser.ts';
import type { Browser } from '../../support/browser.ts';
import { Client } from '../../support/client.ts';
import { openConsole } from '../../support/console-page.ts';
import { auditPage, findOverflow } from '../../support/page-audit.ts';
import { becomes, holdNext, whenSettled } from '../../support/page-state.ts';
import { startServer } from '../../support/server.ts';
import type { TestServer } from '../../support/server.ts';

let server: TestServer;
let browser: Browser;
let client: Client;
let page: Page;

interface FieldOfSchema {
  readonly name: string;
  readonly type: { readonly type: string };
  readonly nullable: boolean;
}

suite('changing columns, and materialized views', { skip: noBrowser }, () => {
  before(async () => {
    server = await startServer({ flags: ['--maintenance-running-max=0'] });
    client = new Client(server.url);
    await client.arrow('/v1/table/items/create', sampleStream(60));
    browser = await openConsole();
    ({ page } = browser);
  });
  after(async () => {
    await browser.close();
    await server.close();
  });

  const open = async (place: string): Promise<void> => {
    await page.goto('about:blank');
    await page.goto(`${server.url}/ui/#/${place}`);
  };
  const fieldOf = async (name: string): Promise<FieldOfSchema | undefined> => {
    const { json } = await client.post('/v1/table/items/describe', {});
    return json.schema.fields.find((field: FieldOfSchema) => field.name === name);
  };
  const read = async (table: string, filter: string): Promise<Record<string, unknown>[]> => {
    return (await client.post(`/v1/table/${table}/query`, { filter }, { accept: 'application/json' })).json.rows;
  };
  const act = async (column: string, action: string): Promise<void> => {
    await page.getByRole('button', { name: `Actions on ${column}`, exact: true }).click();
    await page.getByRole('button', { name: action }).click();
  };
  const add = async (name: string): Promise<void> => {
    await page.getByRole('button', { name: 'Add a column' }).click();
    await page.getByLabel('Name', { exact: true }).fill(name);
  };
  const confirm = async (action: string): Promise<void> => {
    await page.getByRole('dialog').getByRole('button', { name: action, exact: true }).click();
  };

  test('a name with spaces at its ends stays when only the rest of its column is changed', async () => {
    const columns = [
      { name: 'id', type: 'int32', values: [1] },
      { name: ' total', type: 'int32', values: [2] },
    ];
    await client.arrow('/v1/table/spaced/create', columnsToStream(columns));
    await open('table/spaced?tab=schema');
    await page.getByRole('button', { name: /^Actions on .*total/ }).click();
    await page.getByRole('button', { name: 'Rename or change' }).click();
    await becomes(async () => page.getByRole('dialog').getByRole('button', { name: 'Change' }).isDisabled(), true);
    await page.getByLabel('Type').fill('int64');
    await confirm('Change');
    await page.locator('.toast').filter({ hasText: 'was changed' }).waitFor();
    const { json } = await client.post('/v1/table/spaced/describe', {});
    assert.deepEqual(
      json.schema.fields.map(({ name, type }: FieldOfSchema) => [name, type.type]),
      [
        ['id', 'int32'],
        [' total', 'int64'],
      ],
    );
  });

  test('a column is added by an expression, computed for good and filled, or empty with a type', async () => {
    await open('table/items?tab=schema');
    await add('twice');
    await page.getByRole('textbox', { name: 'SQL expression' }).fill('price * 2');
    assert.deepEqual(await auditPage(page), []);
    await confirm('Add');
    await page.getByRole('row', { name: /twice/ }).getByText('float64').waitFor();
    assert.deepEqual(
      (await read('items', 'id = 4')).map((row) => row['twice']),
      [12],
    );
    await add('gross');
    await page.getByText('Computed column').click();
    await page.getByRole('textbox', { name: 'SQL expression' }).fill('price * 3');
    await confirm('Add');
    await page.locator('.toast').filter({ hasText: 'gross is filled.' }).waitFor();
    assert.deepEqual(
      (await read('items', 'id = 4')).map((row) => row['gross']),
      [18],
    );
    await add('embedding');
    await page.getByText('Empty', { exact: true }).click();
    await page.getByLabel('Type').fill('float32[8]');
    await confirm('Add');
    await page
      .getByRole('row', { name: /embedding/ })
      .getByText('float32[8]')
      .waitFor();
  });

  test('the rows of a computed column are filled by a button', async () => {
    await open('table/items?tab=schema');
    await add('net');
    await page.getByText('Computed column').click();
    await page.getByLabel('Fill existing rows').uncheck();
    await page.getByRole('textbox', { name: 'SQL expression' }).fill('price / 2');
    await confirm('Add');
    const row = page.getByRole('row', { name: /^net/ });
    await row.getByText('price / 2').waitFor();
    assert.deepEqual(
      (await read('items', 'id = 4')).map((each) => each['net']),
      [null],
    );
    await row.getByRole('button', { name: 'Fill' }).click();
    await page.locator('.toast').filter({ hasText: 'net is filled.' }).waitFor();
    assert.deepEqual(
      (await read('items', 'id = 4')).map((each) => each['net']),
      [3],
    );
  });

  test('a column is renamed and gets another type, and a refusal is shown in the dialog', async () => {
    await open('table/items?tab=schema');
    await act('name', 'Rename or change');
    await page.getByLabel('Name', { exact: true }).fill('label');
    await confirm('Change');
    await page.getByRole('row', { name: /^label/ }).waitFor();
    await act('id', 'Rename or change');
    await page.getByLabel('Type').fill('int64');
    await confirm('Change');
    await page.getByRole('row', { name: /^id/ }).getByText('int64').waitFor();
    assert.equal((await fieldOf('id'))?.type.type, 'int64');
    await act('price', 'Rename or change');
    await page.getByLabel('Name', { exact: true }).fill('cost');
    await confirm('Change');
    const fault = page.getByRole('dialog').getByRole('alert');
    await fault.waitFor();
    assert.match(await fault.innerText(), /cannot be changed, because the column .* is computed from it/);
    await page.keyboard.press('Escape');
  });

  test('a column is dropped after its name was typed', async () => {
    await open('table/items?tab=schema');
    await act('twice', 'Drop');
    const button = page.getByRole('dialog').getByRole('button', { name: 'Drop', exact: true });
    assert.equal(await button.isDisabled(), true);
    await page.getByLabel('Type twice to confirm').fill('twice');
    await button.click();
    await page.getByRole('row', { name: /^twice/ }).waitFor({ state: 'detached' });
    assert.equal(await fieldOf('twice'), undefined);
  });

  test('a view is created from a query, listed and marked, shows its definition, and is refreshed', async () => {
    await open('');
    await page.getByRole('button', { name: 'New view' }).click();
    await page.getByLabel('Name', { exact: true }).fill('cheap');
    await page.getByLabel('Query').fill('SELECT id, price * 2 AS twice FROM items WHERE price < 9');
    assert.deepEqual(await auditPage(page), []);
    await confirm('Create');
    await page.getByRole('heading', { name: 'cheap' }).waitFor();
    await page.getByText('1–6 of 6').waitFor();
    await page.getByRole('link', { name: 'Schema' }).click();
    const panel = page.getByRole('region', { name: 'Materialized view' });
    await panel.getByText('SELECT id, price * 2 AS twice').waitFor();
    await panel.getByText(/up to date with version/).waitFor();
    await client.post('/v1/table/items/update', { updates: [['price', '1']], predicate: 'id > 50' });
    await open('table/cheap?tab=schema');
    await panel.getByText(/which is at/).waitFor();
    await panel.getByRole('button', { name: 'Refresh' }).click();
    await page.locator('.toast').filter({ hasText: 'The view is up to date.' }).waitFor();
    await panel.getByText(/up to date with version/).waitFor();
    assert.equal((await client.post('/v1/table/cheap/count_rows', {})).json, 15);
    await open('');
    await page
      .getByRole('table', { name: 'Materialized views' })
      .getByRole('row', { name: /cheap.*items.*manual/ })
      .waitFor();
    await page.getByRole('row', { name: /cheap/ }).first().getByText('view', { exact: true }).waitFor();
  });

  test('a query that a view cannot keep is refused in the dialog', async () => {
    await open('');
    await page.getByRole('button', { name: 'New view' }).click();
    await page.getByLabel('Name', { exact: true }).fill('joined');
    await page.getByLabel('Query').fill('SELECT id FROM items, others');
    await confirm('Create');
    await page.getByRole('dialog').getByRole('alert').filter({ hasText: 'is not a valid query for a view' }).waitFor();
    await page.keyboard.press('Escape');
  });

  test('a view whose dialog was closed leads nowhere, and toasts say how it ended', async () => {
    const toast = (text: string) => page.locator('.toast').filter({ hasText: text });
    const create = async (query: string): Promise<void> => {
      await open('');
      await page.getByRole('button', { name: 'New view' }).click();
      await page.getByLabel('Name', { exact: true }).fill('later');
      await page.getByLabel('Query').fill(query);
      const { reached, letGo } = holdNext(page, '**/create*');
      await confirm('Create');
      await reached;
      await confirm('Cancel');
      await page.getByRole('link', { name: 'Lab', exact: true }).click();
      letGo();
    };
    await create('SELECT id FROM items');
    await toast('The view later was created.').waitFor();
    await toast('The view later has its first rows.').waitFor();
    await whenSettled(page);
    assert.match(page.url(), /#\/lab$/);
    await create('SELECT id FROM items, others');
    await toast('is not a valid query for a view').waitFor();
  });

  test('rows of a view are not edited', async () => {
    await open('table/cheap');
    const button = page.getByRole('button', { name: 'Edit', exact: true });
    await button.waitFor();
    assert.ok((await button.isDisabled()) || (await button.getAttribute('aria-disabled')) === 'true');
  });

  test('at the width of a phone the open tab of a table is in view', async () => {
    await page.setViewportSize({ width: 390, height: 800 });
    try {
      await open('table/items?tab=maintenance');
      const isInView = async (): Promise<boolean> => {
        const box = await page.getByRole('link', { name: 'Maintenance', exact: true }).boundingBox();
        return box !== null && box.x + box.width <= 390;
      };
      await becomes(isInView, true);
    } finally {
      await page.setViewportSize({ width: 1280, height: 800 });
    }
  });

  test('at the width of a phone columns and views can be changed', async () => {
    await page.setViewportSize({ width: 390, height: 800 });
    try {
      for (const place of ['table/items?tab=schema', 'table/cheap?tab=schema', '']) {
        await open(place);
        await page
          .locator(place === '' ? 'tr:has-text("cheap")' : 'text=Metadata of the schema')
          .first()
          .waitFor();
        assert.deepEqual(await findOverflow(page), []);
        assert.deepEqual(await auditPage(page), []);
      }
    } finally {
      await page.setViewportSize({ width: 1280, height: 800 });
    }
  });

  test('nothing in the page complained', () => {
    assert.deepEqual(
      browser.complaints.filter((complaint) => !complaint.includes('400')),
      [],
    );
  });
});
