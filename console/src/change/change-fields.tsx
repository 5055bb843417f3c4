import type { JSX } from 'preact';
import type { ColumnFact } from '../../../src/plans/table-facts.ts';
import { Segments, SelectField } from '../parts/forms/field.tsx';
import { Button } from '../parts/button.tsx';
import { SqlBox } from '../parts/forms/sql-box.tsx';
import type { Assignment, ChangeForm } from './change-form.ts';

interface ChangeFieldsProps {
  readonly form: ChangeForm;
  readonly columns: readonly ColumnFact[];
  readonly branches: readonly string[];
  readonly onChange: (form: ChangeForm) => void;
  readonly onSubmit: () => void;
  /** Upserts have a different form. */
  readonly onUpsert: () => void;
  readonly error: unknown;
}

const KINDS = [
  ['update', 'Update'],
  ['delete', 'Delete'],
  ['upsert', 'Upsert'],
] as const;
type Kind = (typeof KINDS)[number][0];

interface KindChoiceProps {
  readonly value: Kind;
  readonly onChange: (kind: Kind) => void;
}

export function KindChoice({ value, onChange }: KindChoiceProps): JSX.Element {
  return <Segments label="What to do" value={value} options={KINDS} onChange={onChange} />;
}

export function ChangeFields(props: ChangeFieldsProps): JSX.Element {
  const { form, columns, branches, onChange, onSubmit, onUpsert, error } = props;
  const fields = columns.map(({ path }) => path);
  return (
    <div class="stack">
      <KindChoice
        value={form.kind}
        onChange={(kind) => (kind === 'upsert' ? onUpsert() : onChange({ ...form, kind }))}
      />
      {form.kind === 'update' ? <Assignments {...props} /> : null}
      <div class="field">
        <span class="label">
          Rows where{' '}
          <span class="hint">{form.where === '' ? (form.kind === 'update' ? 'all rows' : 'needed') : ''}</span>
        </span>
        <SqlBox
          label="Rows where"
          value={form.where}
          onChange={(where) => onChange({ ...form, where })}
          onSubmit={onSubmit}
          placeholder="id < 10"
          error={error}
          place="predicate"
          fields={fields}
        />
      </div>
      {branches.length === 0 && form.branch === '' ? null : (
        <SelectField
          label="Branch"
          value={form.branch}
          options={[{ value: '', label: 'main' }, ...branches.map((value) => ({ value }))]}
          onChange={(branch) => onChange({ ...form, branch })}
        />
      )}
    </div>
  );
}

const ASSIGNMENTS_MAX = 50;

function Assignments({ form, columns, onChange, onSubmit }: ChangeFieldsProps): JSX.Element {
  const { assignments } = form;
  const set = (index: number, change: Partial<Assignment>): void =>
    onChange({ ...form, assignments: assignments.map((each, at) => (at === index ? { ...each, ...change } : each)) });
  return (
    <>
      {assignments.map(({ path, expression }, index) => (
        <fieldset key={index}>
          <legend>Set {assignments.length > 1 ? index + 1 : ''}</legend>
          <SelectField
            label="Column"
            value={path}
            options={[{ value: '', label: 'choose one' }, ...columns.map((column) => ({ value: column.path }))]}
            onChange={(chosen) => set(index, { path: chosen })}
          />
          <SqlBox
            label={`New value of ${path === '' ? 'the column' : path}`}
            value={expression}
            onChange={(text) => set(index, { expression: text })}
            onSubmit={onSubmit}
            placeholder="price * 1.1"
            place="expression"
            fields={columns.map((column) => column.path)}
          />
          {assignments.length > 1 ? (
            <Button
              kind="quiet"
              icon="trash"
              onClick={() => onChange({ ...form, assignments: assignments.filter((_each, at) => at !== index) })}
            >
              Leave out
            </Button>
          ) : null}
        </fieldset>
      ))}
      {assignments.length < ASSIGNMENTS_MAX ? (
        <Button
          icon="add"
          onClick={() => onChange({ ...form, assignments: [...assignments, { path: '', expression: '' }] })}
        >
          Another column
        </Button>
      ) : null}
    </>
  );
}
