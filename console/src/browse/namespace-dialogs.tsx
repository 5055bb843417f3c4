import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { createNamespace, dropNamespace } from '../../../src/client/tables.ts';
import type { NamespacePath } from '../../../src/model/identifier.ts';
import { useClient } from '../api.ts';
import { namespaceHash } from '../links.ts';
import { ConfirmDialog, FormDialog } from '../parts/dialog.tsx';
import type { LeadTo } from '../parts/dialog.tsx';
import { CheckField, TextField } from '../parts/forms/field.tsx';
import { PairsEditor, toRecord } from '../parts/forms/pairs-editor.tsx';
import type { Pair } from '../parts/forms/pairs-editor.tsx';
import { toast } from '../parts/toasts.tsx';
import { useTree } from './tree-store.ts';

interface CreateProps {
  readonly inside: NamespacePath;
  readonly onClose: () => void;
}

export function CreateNamespaceDialog({ inside, onClose }: CreateProps): JSX.Element {
  const client = useClient();
  const tree = useTree();
  const [name, setName] = useState('');
  const [properties, setProperties] = useState<readonly Pair[]>([]);
  const create = async (leadTo: LeadTo): Promise<void> => {
    const path = [...inside, name.trim()];
    await createNamespace(client, path, { properties: toRecord(properties) });
    await tree.refresh(inside);
    tree.reveal(path);
    toast(`Created the namespace ${name.trim()}.`);
    leadTo(namespaceHash(path));
  };
  const where = inside.length === 0 ? 'New namespace' : `New namespace in ${inside.join(' / ')}`;
  return (
    <FormDialog title={where} action="Create" isReady={name.trim() !== ''} onSubmit={create} onClose={onClose}>
      <TextField label="Name" value={name} onChange={setName} hasFocus isRequired />
      <PairsEditor label="Properties" pairs={properties} onChange={setProperties} />
    </FormDialog>
  );
}

interface DropProps {
  readonly namespace: NamespacePath;
  readonly onClose: () => void;
}

export function DropNamespaceDialog({ namespace, onClose }: DropProps): JSX.Element {
  const client = useClient();
  const tree = useTree();
  const [isCascade, setIsCascade] = useState(false);
  const name = namespace.at(-1) ?? '';
  const drop = async (leadTo: LeadTo): Promise<void> => {
    await dropNamespace(client, namespace, isCascade ? { behavior: 'cascade' } : {});
    const parent = namespace.slice(0, -1);
    await tree.refresh(parent);
    toast(`Dropped the namespace ${name}.`);
    leadTo(namespaceHash(parent));
  };
  return (
    <ConfirmDialog title={`Drop ${name}?`} action="Drop" wantedText={name} onConfirm={drop} onClose={onClose}>
      <p>You cannot undo this. A namespace that is not empty is dropped only with the option below.</p>
      <CheckField label="Also drop all namespaces and tables in it" isChecked={isCascade} onChange={setIsCascade} />
    </ConfirmDialog>
  );
}
