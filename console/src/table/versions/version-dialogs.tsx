import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { createBranch, createTag, deleteBranch, deleteTag, restoreTable } from '../../../../src/client/history.ts';
import { useClient } from '../../api.ts';
import { tableHash } from '../../links.ts';
import { ConfirmDialog, FormDialog } from '../../parts/dialog.tsx';
import type { LeadTo } from '../../parts/dialog.tsx';
import { TextField } from '../../parts/forms/field.tsx';
import { toast } from '../../parts/toasts.tsx';
import { branchOf } from '../described-table.ts';
import type { DescribedTable } from '../described-table.ts';
import { RestoreLosses } from './restore-losses.tsx';

interface DialogProps {
  readonly table: DescribedTable;
  readonly onChanged: () => void;
  readonly onClose: () => void;
}

interface VersionDialogProps extends DialogProps {
  readonly version: number;
}

export function TagDialog({ table, version, onChanged, onClose }: VersionDialogProps): JSX.Element {
  const client = useClient();
  const [name, setName] = useState('');
  const save = async (): Promise<void> => {
    await createTag(client, table.path, { tag: name.trim(), version, ...branchOf(table) });
    toast(`Tagged version ${version} as ${name.trim()}.`);
    onChanged();
  };
  return (
    <FormDialog
      title={`Tag version ${version}`}
      action="Tag"
      isReady={name.trim() !== ''}
      onSubmit={save}
      onClose={onClose}
    >
      <TextField label="Name" value={name} onChange={setName} hint="A tagged version is never cleaned up." hasFocus />
    </FormDialog>
  );
}

export function CreateBranchDialog({ table, version, onChanged, onClose }: VersionDialogProps): JSX.Element {
  const client = useClient();
  const [name, setName] = useState('');
  const { branch } = table.at;
  const save = async (): Promise<void> => {
    const from = branch === undefined ? {} : { from_branch: branch };
    await createBranch(client, table.path, { name: name.trim(), from_version: version, ...from });
    toast(`Created the branch ${name.trim()} at version ${version}.`);
    onChanged();
  };
  return (
    <FormDialog
      title={`Create a branch at version ${version}`}
      action="Create"
      isReady={name.trim() !== ''}
      onSubmit={save}
      onClose={onClose}
    >
      <TextField
        label="Name"
        value={name}
        onChange={setName}
        hint="Writes to it do not affect other branches."
        hasFocus
      />
    </FormDialog>
  );
}

export function RestoreDialog({ table, version, onChanged, onClose }: VersionDialogProps): JSX.Element {
  const client = useClient();
  const restore = async (leadTo: LeadTo): Promise<void> => {
    const reply = await restoreTable(client, table.path, { version, ...branchOf(table) });
    toast(`Version ${reply.version} has the same contents as version ${version}.`);
    onChanged();
    leadTo(tableHash(table.path, 'versions', branchOf(table)));
  };
  return (
    <ConfirmDialog
      title={`Restore version ${version}?`}
      action="Restore"
      isDangerous={false}
      onConfirm={restore}
      onClose={onClose}
    >
      <RestoreLosses table={table} version={version} />
      <p class="hint">This creates a new version. The versions in between stay, and can be restored too.</p>
    </ConfirmDialog>
  );
}

interface NameDialogProps extends DialogProps {
  readonly name: string;
}

export function DeleteTagDialog({ table, name, onChanged, onClose }: NameDialogProps): JSX.Element {
  const client = useClient();
  const remove = async (): Promise<void> => {
    await deleteTag(client, table.path, { tag: name });
    toast(`The tag ${name} was deleted.`);
    onChanged();
  };
  return (
    <ConfirmDialog title={`Delete the tag ${name}?`} action="Delete" onConfirm={remove} onClose={onClose}>
      <p>The version stays, but can be cleaned up like other old versions.</p>
    </ConfirmDialog>
  );
}

export function DeleteBranchDialog({ table, name, onChanged, onClose }: NameDialogProps): JSX.Element {
  const client = useClient();
  const remove = async (): Promise<void> => {
    await deleteBranch(client, table.path, { name });
    toast(`The branch ${name} was deleted.`);
    onChanged();
  };
  return (
    <ConfirmDialog
      title={`Delete the branch ${name}?`}
      action="Delete"
      wantedText={name}
      onConfirm={remove}
      onClose={onClose}
    >
      <p>What was written only to this branch is lost.</p>
    </ConfirmDialog>
  );
}
