import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { TablePath } from '../../../src/model/identifier.ts';
import { loadHash, readAt, readRowsPage, readTab, tableHash } from '../links.ts';
import type { RowsPage } from '../links.ts';
import { Breadcrumbs } from '../parts/states.tsx';
import { LinkButton } from '../parts/button.tsx';
import { Icon } from '../parts/icon.tsx';
import { Popover } from '../parts/popover.tsx';
import { toHash } from '../router.ts';
import type { DescribedTable } from './described-table.ts';
import { StatePicker } from './versions/state-picker.tsx';
import { DropTableDialog, RenameTableDialog } from './table-dialogs.tsx';

interface TableHeadProps {
  readonly path: TablePath;
  readonly database: string;
  readonly query: URLSearchParams;
  readonly table: DescribedTable | undefined;
}

type OpenDialog = 'rename' | 'drop' | undefined;

export function TableHead({ path, database, query, table }: TableHeadProps): JSX.Element {
  const [dialog, setDialog] = useState<OpenDialog>();
  const name = path.at(-1) ?? '';
  const asked = readAt(query);
  const { version, branch } = table?.at ?? asked;
  const close = (): void => setDialog(undefined);
  return (
    <>
      <header class="page-head">
        <div class="title">
          <Breadcrumbs database={database} namespace={path.slice(0, -1)} />
          <h1>{name}</h1>
        </div>
        <div class="actions">
          <StatePicker path={path} query={query} table={table} />
          <LinkButton icon="search" href={toHash('lab', path)}>
            Query
          </LinkButton>
          <LinkButton icon="upload" href={loadHash(path.slice(0, -1), name)}>
            Load
          </LinkButton>
          <Popover label="More" icon="more" side="right">
            {(closeMenu) => (
              <div class="menu">
                <button type="button" class="item" onClick={() => (closeMenu(), setDialog('rename'))}>
                  <Icon name="edit" /> Rename or move …
                </button>
                <button type="button" class="item bad" onClick={() => (closeMenu(), setDialog('drop'))}>
                  <Icon name="trash" /> Drop …
                </button>
              </div>
            )}
          </Popover>
        </div>
      </header>
      {version === undefined ? null : (
        <p class="banner">
          <span>
            You are looking at version {version}
            {branch === undefined ? '' : ` of the branch ${branch}`}, as it was then.
          </span>
          <a href={tableHash(path, readTab(query), branch === undefined ? {} : { branch }, latestRows(query))}>
            To the latest
          </a>
        </p>
      )}
      {dialog === 'rename' ? <RenameTableDialog path={path} onClose={close} /> : null}
      {dialog === 'drop' ? <DropTableDialog path={path} onClose={close} /> : null}
    </>
  );
}

/** Keeps filter and order, but not the page. */
function latestRows(query: URLSearchParams): RowsPage {
  return { ...readRowsPage(query), page: 1 };
}
