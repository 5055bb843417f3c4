import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { TablePath } from '../../../../src/model/identifier.ts';
import { SavedItem } from './query-menu.tsx';
import { deleteSaved, listSaved } from './query-store.ts';

/** The saved queries of all tables of a database. */
export function SavedQueries({ database }: { readonly database: string }): JSX.Element | null {
  const [, setRound] = useState(0);
  const saved = listSaved({ database });
  if (saved.length === 0) return null;
  const tables = [...new Map(saved.map(({ table }) => [table.join('/'), table])).values()];
  return (
    <section class="view saved-queries" aria-labelledby="saved-queries">
      <h2 id="saved-queries">Saved queries</h2>
      {tables.map((table: TablePath) => (
        <div key={table.join('/')} class="card queries">
          <h3>{table.join(' / ')}</h3>
          <ul>
            {listSaved({ database, table }).map((query) => (
              <SavedItem
                key={query.name}
                query={query}
                onOpen={() => {}}
                onDelete={() => {
                  deleteSaved(query);
                  setRound((before) => before + 1);
                }}
              />
            ))}
          </ul>
        </div>
      ))}
    </section>
  );
}
