import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { TablePath } from '../../../../src/model/identifier.ts';
import { readAt, readRowsPage, readTab, tableHash } from '../../links.ts';
import type { AskedAt, At } from '../../links.ts';
import { Button } from '../../parts/button.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Popover } from '../../parts/popover.tsx';
import { go } from '../../router.ts';
import type { DescribedTable } from '../described-table.ts';

interface StatePickerProps {
  readonly path: TablePath;
  readonly query: URLSearchParams;
  readonly table: DescribedTable | undefined;
}

export function StatePicker({ path, query, table }: StatePickerProps): JSX.Element {
  const asked = readAt(query);
  const { branch = 'main', version } = table?.at ?? asked;
  return (
    <Popover
      label="Version, tag or branch"
      icon={version === undefined ? 'branch' : 'tag'}
      side="right"
      text={
        <span>
          {asked.tag ?? branch}{' '}
          <span class="muted">
            ·{' '}
            {version === undefined ? `latest${table === undefined ? '' : ` (${table.version})`}` : `version ${version}`}
          </span>
        </span>
      }
    >
      {(close) => (
        <Choices
          table={table}
          at={table?.at ?? {}}
          onChoose={(chosen) => {
            close();
            go(tableHash(path, readTab(query), chosen, { ...readRowsPage(query), page: 1 }));
          }}
        />
      )}
    </Popover>
  );
}

interface ChoicesProps {
  readonly table: DescribedTable | undefined;
  readonly at: At;
  readonly onChoose: (at: AskedAt) => void;
}

function Choices({ table, at, onChoose }: ChoicesProps): JSX.Element {
  const [typed, setTyped] = useState('');
  const onBranch = at.branch === undefined ? {} : { branch: at.branch };
  const submit = (event: Event): void => {
    event.preventDefault();
    if (/^\d+$/.test(typed)) onChoose({ ...onBranch, version: Number(typed) });
  };
  const tags = Object.entries(table?.tags ?? {});
  return (
    <div class="menu states">
      <button type="button" class="item" onClick={() => onChoose({})}>
        <Icon name="branch" /> main <span class="muted">latest</span>
      </button>
      {Object.keys(table?.branches ?? {}).map((name) => (
        <button key={name} type="button" class="item" onClick={() => onChoose({ branch: name })}>
          <Icon name="branch" /> {name} <span class="muted">latest</span>
        </button>
      ))}
      {tags.map(([name, { version }]) => (
        <button key={name} type="button" class="item" onClick={() => onChoose({ tag: name })}>
          <Icon name="tag" /> {name} <span class="muted">version {version}</span>
        </button>
      ))}
      <form onSubmit={submit}>
        <input
          aria-label="Version"
          inputMode="numeric"
          placeholder="version"
          value={typed}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
        <Button submits>Go</Button>
      </form>
    </div>
  );
}
