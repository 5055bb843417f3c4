import type { JSX } from 'preact';
import { collect } from '../../../src/client/calls.ts';
import { listViews } from '../../../src/client/views.ts';
import type { NamespacePath } from '../../../src/model/identifier.ts';
import type { ListViewsReply } from '../../../src/wire/views.ts';
import { useClient } from '../api.ts';
import { tableHash } from '../links.ts';
import { ErrorBox } from '../parts/error-box.tsx';
import { formatAgo } from '../parts/format.ts';
import { Heads } from '../parts/grid/pager.tsx';
import { Icon } from '../parts/icon.tsx';
import { useLoad } from '../parts/use-load.ts';
import { refreshWords, sourceOf } from '../table/view/view-text.ts';

/** The materialized views in a namespace and below it; empty if there are none. */
export function ViewList({ namespace }: { readonly namespace: NamespacePath }): JSX.Element | null {
  const client = useClient();
  const { value, error, reload } = useLoad(
    async () => collect(listViews(client, namespace)),
    [client, namespace.join('/')],
  );
  if (error !== undefined) return <ErrorBox error={error} onRetry={reload} />;
  if (value === undefined || value.length === 0) return null;
  return (
    <section aria-label="Materialized views">
      <h2>Materialized views</h2>
      <div class="scrolled">
        <table class="list" aria-label="Materialized views">
          <Heads heads={['View', 'Source', 'Refresh', 'Last refresh']} />
          <tbody>
            {value.map((view) => (
              <ViewRow key={view.table} view={view} namespace={namespace} />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

interface ViewRowProps {
  readonly view: ListViewsReply['views'][number];
  readonly namespace: NamespacePath;
}

function ViewRow({ view, namespace }: ViewRowProps): JSX.Element {
  const { id, refreshed_at_millis: refreshed } = view;
  const [first = '', ...rest] = id;
  const source = sourceOf(view);
  return (
    <tr>
      <td>
        <a class="entry" href={tableHash([first, ...rest], 'schema')}>
          <Icon name="table" />
          {id.slice(namespace.length).join(' / ')}
        </a>
      </td>
      <td>
        <a href={tableHash(source)}>{source.join(' / ')}</a>
      </td>
      <td>{refreshWords(view)}</td>
      <td>{refreshed === undefined ? <span class="muted">never</span> : formatAgo(refreshed)}</td>
    </tr>
  );
}
