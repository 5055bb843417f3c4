import type { JSX } from 'preact';
import type { GrantShape } from '../../../src/wire/access.ts';
import { SelectField, TextField } from '../parts/forms/field.tsx';

interface GrantForm {
  readonly role: string;
  /** Empty for all databases. */
  readonly database: string;
  /** Names joined by slashes, which no name contains. */
  readonly path: string;
}

const ROLES = [
  { value: 'reader', label: 'reader: read tables' },
  { value: 'writer', label: 'writer: also create tables and change rows' },
  { value: 'owner', label: 'owner: also drop, rename and maintain' },
  { value: 'admin', label: 'admin: everything, including access' },
];

interface GrantFieldsProps {
  readonly form: GrantForm;
  readonly databases: readonly string[];
  readonly onChange: (form: GrantForm) => void;
}

export function GrantFields({ form, databases, onChange }: GrantFieldsProps): JSX.Element {
  return (
    <>
      <SelectField label="Role" value={form.role} options={ROLES} onChange={(role) => onChange({ ...form, role })} />
      <div class="columns">
        <SelectField
          label="Database"
          value={form.database}
          options={[...databases.map((value) => ({ value })), { value: '', label: 'every database' }]}
          onChange={(database) => onChange({ ...form, database, path: database === '' ? '' : form.path })}
        />
        <TextField
          label="Namespace or table"
          value={form.path}
          onChange={(path) => onChange({ ...form, path })}
          placeholder="the whole database"
          hint="Such as eu/orders."
          isMono
        />
      </div>
    </>
  );
}

export function toGrant({ role, database, path }: GrantForm): GrantShape {
  const names = path.split('/').filter((name) => name !== '');
  return {
    role,
    ...(database === '' ? { all_databases: true } : { database }),
    ...(names.length === 0 ? {} : { path: names }),
  };
}
