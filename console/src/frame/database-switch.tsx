import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { listDatabases, useClient } from '../api.ts';
import { Button } from '../parts/button.tsx';
import { Icon } from '../parts/icon.tsx';
import { Popover } from '../parts/popover.tsx';
import { useLoad } from '../parts/use-load.ts';

interface DatabaseSwitchProps {
  readonly database: string;
  readonly onChange: (database: string) => void;
}

export function DatabaseSwitch({ database, onChange }: DatabaseSwitchProps): JSX.Element {
  return (
    <Popover label="Database" icon="database" kind="quiet" side="right" text={<span>{database}</span>}>
      {(close) => (
        <Choice
          database={database}
          onChange={(chosen) => {
            close();
            if (chosen !== database) onChange(chosen);
          }}
        />
      )}
    </Popover>
  );
}

/** Lists the visible databases; others can be entered. */
function Choice({ database, onChange }: DatabaseSwitchProps): JSX.Element {
  const client = useClient();
  const [typed, setTyped] = useState('');
  const { value: names = [] } = useLoad(async () => listDatabases(client), [client]);
  const submit = (event: Event): void => {
    event.preventDefault();
    if (typed.trim() !== '') onChange(typed.trim());
  };
  return (
    <div class="menu">
      {names.map((name) => (
        <button key={name} type="button" class="item" onClick={() => onChange(name)}>
          {name}
          {name === database ? <Icon name="check" /> : null}
        </button>
      ))}
      <form onSubmit={submit}>
        <input
          aria-label="Name of another database"
          placeholder="another database"
          value={typed}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
        <Button submits>Open</Button>
      </form>
    </div>
  );
}
