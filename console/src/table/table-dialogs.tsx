import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { dropTable, renameTable } from '../../../src/client/tables.ts';
import type { TablePath } from '../../../src/model/identifier.ts';
import { useClient } from '../api.ts';
import { useTree } from '../browse/tree-store.ts';
import { namespaceHash, tableHash, tablePathOf } from '../links.ts';
import { ConfirmDialog, FormDialog } from '../parts/dialog.tsx';
import type { LeadTo } from '../parts/dialog.tsx';
import { TextField } from '../parts/forms/field.tsx';
import { readName, readPath } from '../parts/forms/typed-names.ts';
import { toast } from '../parts/toasts.tsx';

interface TableDialogProps {
  readonly path: TablePath;
  readonly onClose: () => void;
}

export function RenameTableDialog({ path, onClose }: TableDialogProps): JSX.Element {
  const client = useClient();
  const tree = useTree();
  const from = path.slice(0, -1);
  const [name, setName] = useState(path.at(-1) ?? '');
  const [where, setWhere] = useState(from.join('/'));
  const rename = async (leadTo: LeadTo): Promise<void> => {
    const namespace = readPath(where, from);
    const target = tablePathOf(namespace, readName(name, path.at(-1)));
    await renameTable(client, path, target);
    await Promise.all([tree.refresh(from), tree.refresh(namespace)]);
    toast(`The table is now ${target.join(' / ')}.`);
    leadTo(tableHash(target));
  };
  return (
    <FormDialog title="Rename or move" action="Rename" isReady={name.trim() !== ''} onSubmit={rename} onClose={onClose}>
      <TextField label="Name" value={name} onChange={setName} hasFocus isRequired />
      <TextField
        label="Namespace"
        value={where}
        onChange={setWhere}
        hint="Separate names with /; empty for the root of the database."
      />
    </FormDialog>
  );
}

export function DropTableDialog({ path, onClose }: TableDialogProps): JSX.Element {
  const client = useClient();
  const tree = useTree();
  const name = path.at(-1) ?? '';
  const drop = async (leadTo: LeadTo): Promise<void> => {
    await dropTable(client, path);
    const namespace = path.slice(0, -1);
    await tree.refresh(namespace);
    toast(`The table ${name} was dropped.`);
    leadTo(namespaceHash(namespace));
  };
  return (
    <ConfirmDialog title={`Drop ${name}?`} action="Drop" wantedText={name} onConfirm={drop} onClose={onClose}>
      <p>This deletes all its rows, versions, tags, branches and indexes. You cannot undo it.</p>
    </ConfirmDialog>
  );
}
