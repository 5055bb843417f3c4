import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { startIndex } from '../../../src/client/tables.ts';
import { useClient } from '../api.ts';
import { tableHash } from '../links.ts';
import { Button, LinkButton } from '../parts/button.tsx';
import { ErrorBox } from '../parts/error-box.tsx';
import { formatBytes, formatCount, formatCountOf, formatMilliseconds } from '../parts/format.ts';
import { Icon } from '../parts/icon.tsx';
import { Badge, Skeleton } from '../parts/states.tsx';
import { useDocumentTitle } from '../parts/use-load.ts';
import type { ViewProps } from '../router.ts';
import { JobButton } from '../table/schema/job-button.tsx';
import { ColumnChoices } from './column-choices.tsx';
import { DropZone } from './drop-zone.tsx';
import { forgetLoad, useKeptLoad } from './kept-loads.ts';
import { openFile } from './opened-file.ts';
import type { OpenedFile } from './opened-file.ts';
import { PreviewGrid } from './preview-grid.tsx';
import type { Loaded } from './send-file.ts';
import { TargetForm } from './target-form.tsx';

export function LoadView({ session, route }: ViewProps): JSX.Element {
  const load = useKeptLoad(session.database);
  const [opened, setOpened] = useState(load?.opened);
  const [isOpening, setIsOpening] = useState(false);
  const [error, setError] = useState<unknown>();
  const loaded = load?.loaded;
  useDocumentTitle('Load data');
  const open = (file: File): void => {
    setIsOpening(true);
    setError(undefined);
    openFile(file)
      .then(setOpened, setError)
      .finally(() => setIsOpening(false));
  };
  const restart = (): void => {
    forgetLoad(session.database);
    setOpened(undefined);
  };
  return (
    <div class="view load">
      <header class="page-head">
        <div class="title">
          <h1>Load data</h1>
          <p class="muted">Arrow, Parquet, CSV or JSON. The file is read here in the browser, and sent as Arrow.</p>
        </div>
        {opened === undefined || loaded !== undefined || load?.isRunning === true ? null : (
          <Button icon="close" onClick={restart}>
            Another file
          </Button>
        )}
      </header>
      <ErrorBox error={error} />
      {opened === undefined && !isOpening ? <DropZone onFile={open} /> : null}
      {isOpening ? <Skeleton lines={6} /> : null}
      {opened !== undefined && loaded === undefined ? (
        <div class="load-panes">
          <div>
            <FileFacts opened={opened} />
            <ColumnChoices columns={opened.columns} onChange={(columns) => setOpened({ ...opened, columns })} />
            <PreviewGrid opened={opened} />
          </div>
          <TargetForm
            opened={opened}
            load={load}
            session={session}
            namespace={route.segments}
            table={route.query.get('table') ?? undefined}
          />
        </div>
      ) : null}
      {loaded === undefined ? null : <Result loaded={loaded} onRestart={restart} />}
    </div>
  );
}

function FileFacts({ opened }: { readonly opened: OpenedFile }): JSX.Element {
  const { file, format, rowCount, columns } = opened;
  return (
    <p class="file-facts">
      <Icon name="table" />
      <strong>{file.name}</strong>
      <Badge kind="accent">{format}</Badge>
      <span class="muted">
        {formatBytes(file.size)} · {formatCountOf(columns.length, 'column')}
        {rowCount === undefined ? '' : ` · ${formatCountOf(rowCount, 'row')}`}
      </span>
    </p>
  );
}

interface ResultProps {
  readonly loaded: Loaded;
  readonly onRestart: () => void;
}

function Result({ loaded, onRestart }: ResultProps): JSX.Element {
  const { table, rows, bytes, milliseconds, version, vectors } = loaded;
  const client = useClient();
  const [indexed, setIndexed] = useState<readonly string[]>([]);
  return (
    <div class="empty" role="status">
      <Icon name="check" class="good" />
      <h2>
        Imported {formatCountOf(rows, 'row')} ({formatBytes(bytes)}) into {table.join(' / ')} in{' '}
        {formatMilliseconds(milliseconds)}
      </h2>
      {version === undefined ? null : <p>The table is now at version {formatCount(version)}.</p>}
      {indexed.map((column) => (
        <p key={column}>{column} has an index.</p>
      ))}
      {vectors
        .filter((column) => !indexed.includes(column))
        .map((column) => (
          <p key={column} class="next-step">
            <span>Searches of {column} compare every row until it has an index.</span>
            <JobButton
              label={`Build an index on ${column}`}
              done={`${column} has an index.`}
              start={async () => startIndex(client, table, { column })}
              onDone={() => setIndexed((before) => [...before, column])}
            />
          </p>
        ))}
      <div class="actions">
        <Button onClick={onRestart}>Load another file</Button>
        <LinkButton kind="primary" icon="table" href={tableHash(table)}>
          Open the table
        </LinkButton>
      </div>
    </div>
  );
}
