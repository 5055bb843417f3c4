import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { TablePath } from '../../../../src/model/identifier.ts';
import { Button } from '../../parts/button.tsx';
import { formatAgo } from '../../parts/format.ts';
import { TextField } from '../../parts/forms/field.tsx';
import { Popover } from '../../parts/popover.tsx';
import { toast } from '../../parts/toasts.tsx';
import { toHash } from '../../router.ts';
import { readForm } from '../form/lab-form.ts';
import { summarize } from './summarize.ts';
import { clearRecent, deleteSaved, listRecent, listSaved, saveQuery } from './query-store.ts';
import type { KeptQuery, SavedQuery } from './query-store.ts';

interface QueryMenuProps {
  readonly database: string;
  readonly table: TablePath;
  /** The parameters of the current query. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** Saves the query under a name, and lists the saved and the recent queries of the table. */
export function QueryMenu(props: QueryMenuProps): JSX.Element {
  return (
    <Popover label="Saved and recent queries" text="Queries" kind="quiet" side="right">
      {(close) => <Queries {...props} onClose={close} />}
    </Popover>
  );
}

type QueriesProps = QueryMenuProps & { readonly onClose: () => void };

function Queries({ database, table, parameters, onClose }: QueriesProps): JSX.Element {
  const [, setRound] = useState(0);
  const changed = (): void => setRound((before) => before + 1);
  const where = { database, table };
  const [saved, recent] = [listSaved(where), listRecent(where)];
  return (
    <div class="queries">
      <SaveForm
        onSave={(name) => {
          const fault = saveQuery({ ...where, parameters, at: Date.now(), name });
          if (fault === undefined) toast(`Saved as ${name}.`);
          changed();
          return fault;
        }}
      />
      <h2>Saved</h2>
      {saved.length === 0 ? <p class="hint">No saved queries of this table yet.</p> : null}
      <ul>
        {saved.map((query) => (
          <SavedItem key={query.name} query={query} onOpen={onClose} onDelete={() => (deleteSaved(query), changed())} />
        ))}
      </ul>
      <h2>
        Recent
        {recent.length === 0 ? null : (
          <Button kind="quiet" onClick={() => (clearRecent(where), changed())}>
            Clear
          </Button>
        )}
      </h2>
      {recent.length === 0 ? <p class="hint">Queries that you run are listed here, in this browser only.</p> : null}
      <ul>
        {recent.map((query) => (
          <li key={JSON.stringify(query.parameters)}>
            <QueryLink query={query} onOpen={onClose} text={summarize(formOf(query))} />
            <span class="hint">{formatAgo(query.at)}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

function SaveForm({ onSave }: { readonly onSave: (name: string) => string | undefined }): JSX.Element {
  const [name, setName] = useState('');
  const [fault, setFault] = useState<string>();
  const submit = (event: Event): void => {
    event.preventDefault();
    const found = onSave(name.trim());
    setFault(found);
    if (found === undefined) setName('');
  };
  return (
    <form class="joined" onSubmit={submit}>
      <TextField label="Save this query as" value={name} onChange={setName} fault={fault} placeholder="nearest books" />
      <Button submits>Save</Button>
    </form>
  );
}

interface SavedItemProps {
  readonly query: SavedQuery;
  readonly onOpen: () => void;
  readonly onDelete: () => void;
}

export function SavedItem({ query, onOpen, onDelete }: SavedItemProps): JSX.Element {
  return (
    <li>
      <QueryLink query={query} onOpen={onOpen} text={query.name} note={summarize(formOf(query))} />
      <Button kind="quiet" icon="trash" label={`Delete the saved query ${query.name}`} onClick={onDelete} />
    </li>
  );
}

interface QueryLinkProps {
  readonly query: KeptQuery;
  readonly text: string;
  readonly note?: string;
  readonly onOpen: () => void;
}

function QueryLink({ query, text, note, onOpen }: QueryLinkProps): JSX.Element {
  return (
    <a href={toHash('lab', query.table, query.parameters)} onClick={onOpen}>
      {text}
      {note === undefined ? null : <small class="muted">{note}</small>}
    </a>
  );
}

function formOf({ parameters }: KeptQuery) {
  return readForm(new URLSearchParams(parameters));
}
