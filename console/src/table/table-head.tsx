import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { VIEW_PROPERTY } from '../../../src/model/derived/view.ts';
import type { TablePath } from '../../../src/model/identifier.ts';
import { findDimension } from '../../../src/plans/table-facts.ts';
import { loadHash, readAt, readRowsPage, readTab, tableHash } from '../links.ts';
import type { RowsPage } from '../links.ts';
import { Badge, Breadcrumbs } from '../parts/states.tsx';
import { LinkButton } from '../parts/button.tsx';
import { Icon } from '../parts/icon.tsx';
import { MenuItem, Popover } from '../parts/popover.tsx';
import { toHash } from '../router.ts';
import { usePermissions } from '../who.tsx';
import type { DescribedTable } from './described-table.ts';
import { StatePicker } from './versions/state-picker.tsx';
import { CreateViewDialog } from './view/create-view-dialog.tsx';
import { DropTableDialog, RenameTableDialog } from './table-dialogs.tsx';

interface TableHeadProps {
  readonly path: TablePath;
  readonly database: string;
  readonly query: URLSearchParams;
  readonly table: DescribedTable | undefined;
}

type OpenDialog = 'rename' | 'drop' | 'view' | undefined;

export function TableHead({ path, database, query, table }: TableHeadProps): JSX.Element {
  const [dialog, setDialog] = useState<OpenDialog>();
  const name = path.at(-1) ?? '';
  const asked = readAt(query);
  const { version, branch } = table?.at ?? asked;
  const refusals = usePermissions(path);
  const refusedBeside = usePermissions(path.slice(0, -1)).write;
  const close = (): void => setDialog(undefined);
  return (
    <>
      <header class="page-head">
        <div class="title">
          <Breadcrumbs database={database} namespace={path.slice(0, -1)} />
          <h1>
            {name} {table?.properties[VIEW_PROPERTY] === undefined ? null : <Badge kind="accent">view</Badge>}
          </h1>
        </div>
        <div class="actions">
          <StatePicker path={path} query={query} table={table} />
          <LinkButton icon="search" href={toHash('lab', path)}>
            Query
          </LinkButton>
          <LinkButton icon="upload" href={loadHash(path.slice(0, -1), name)} refusal={refusals.write}>
            Load
          </LinkButton>
          <Popover label="More" icon="more" side="right">
            {(closeMenu) => (
              <div class="menu">
                {table?.schema.fields.some(({ type }) => findDimension(type) !== undefined) === true ? (
                  <a class="item" href={toHash('lab', path, { tab: 'map' })}>
                    <Icon name="search" /> Map of the vectors
                  </a>
                ) : null}
                <MenuItem icon="table" refusal={refusedBeside} onClick={() => (closeMenu(), setDialog('view'))}>
                  New view …
                </MenuItem>
                <MenuItem icon="edit" refusal={refusals.manage} onClick={() => (closeMenu(), setDialog('rename'))}>
                  Rename or move …
                </MenuItem>
                <MenuItem
                  icon="trash"
                  isDangerous
                  refusal={refusals.manage}
                  onClick={() => (closeMenu(), setDialog('drop'))}
                >
                  Drop …
                </MenuItem>
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
            Go to the latest
          </a>
        </p>
      )}
      {dialog === 'rename' ? <RenameTableDialog path={path} onClose={close} /> : null}
      {dialog === 'view' ? <CreateViewDialog namespace={path.slice(0, -1)} source={path} onClose={close} /> : null}
      {dialog === 'drop' ? <DropTableDialog path={path} onClose={close} /> : null}
    </>
  );
}

/** Keeps filter and order, but not the page. */
function latestRows(query: URLSearchParams): RowsPage {
  return { ...readRowsPage(query), page: 1 };
}
