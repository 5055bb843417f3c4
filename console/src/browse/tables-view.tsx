import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { useClient } from '../api.ts';
import { Icon } from '../parts/icon.tsx';
import type { Route } from '../router.ts';
import { TableView } from '../table/table-view.tsx';
import type { ViewProps } from '../router.ts';
import { NamespaceView } from './namespace-view.tsx';
import { SearchList } from './search-list.tsx';
import { TreeContext, TreeStore, keyOf } from './tree-store.ts';
import { Tree } from './tree.tsx';

export function TablesView({ session, route }: ViewProps): JSX.Element {
  const client = useClient();
  const store = useMemo(() => new TreeStore(client), [client]);
  const [text, setText] = useState('');
  const [isTreeOpen, setIsTreeOpen] = useState(false);
  const kind = route.view === 'table' ? 'table' : 'namespace';
  const key = keyOf(route.segments);
  useEffect(() => {
    store.reveal(route.segments);
    if (kind === 'namespace' && route.segments.length > 0) store.setOpen(route.segments, true);
    setIsTreeOpen(false);
  }, [store, kind, key]);
  return (
    <TreeContext.Provider value={store}>
      <div class="panes">
        <aside aria-label="Tables" class={isTreeOpen || text.trim() !== '' ? 'open' : undefined}>
          <div class="search">
            <Icon name="search" />
            <input
              type="search"
              aria-label="Search tables by name"
              placeholder="Search tables"
              value={text}
              onInput={(event) => setText(event.currentTarget.value)}
            />
            <Button
              class="tree-button"
              icon={isTreeOpen ? 'up' : 'down'}
              isExpanded={isTreeOpen}
              onClick={() => setIsTreeOpen(!isTreeOpen)}
            >
              Tree
            </Button>
          </div>
          {text.trim() === '' ? <Tree chosen={`${kind}:${key}`} /> : <SearchList text={text} />}
        </aside>
        <section class="content">
          <Chosen route={route} database={session.database} />
        </section>
      </div>
    </TreeContext.Provider>
  );
}

interface ChosenProps {
  readonly route: Route;
  readonly database: string;
}

function Chosen({ route, database }: ChosenProps): JSX.Element {
  const [name, ...rest] = route.segments;
  const key = keyOf(route.segments);
  if (route.view === 'table' && name !== undefined) {
    return <TableView key={key} table={[name, ...rest]} database={database} query={route.query} />;
  }
  return <NamespaceView key={key} namespace={route.segments} database={database} />;
}
