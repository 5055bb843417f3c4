import type { JSX } from 'preact';
import { findDimension } from '../../../src/plans/table-facts.ts';
import { CheckField, Field, SelectField, TextField } from '../parts/field.tsx';
import { Button } from '../parts/button.tsx';
import { SqlBox } from '../parts/sql-box.tsx';
import type { LabForm } from './lab-form.ts';
import { hasText, hasVector, searchedColumn, splitPaths } from './query-body.ts';
import { Segments } from './segments.tsx';
import type { TableFacts } from './table-facts.ts';

export interface FormProps {
  readonly form: LabForm;
  readonly facts: TableFacts;
  readonly onChange: (change: Partial<LabForm>) => void;
  readonly onRun: () => void;
  readonly error: unknown;
}

const SEARCHES = [
  ['none', 'Scan'],
  ['vector', 'Vector'],
  ['text', 'Text'],
  ['hybrid', 'Hybrid'],
] as const;

export function QueryForm(props: FormProps): JSX.Element {
  const { form, facts, onChange, onRun, error } = props;
  return (
    <div class="stack">
      <Segments label="Search" value={form.search} options={SEARCHES} onChange={(search) => onChange({ search })} />
      {hasVector(form) ? <VectorFields {...props} /> : null}
      {hasText(form) ? <TextFields {...props} /> : null}
      <div class="field">
        <span class="label">Filter</span>
        <SqlBox
          label="Filter"
          value={form.filter}
          onChange={(filter) => onChange({ filter })}
          onSubmit={onRun}
          placeholder="price > 5"
          error={error}
          place="filter"
          fields={facts.columns.map(({ path }) => path)}
        />
      </div>
      <ColumnsField {...props} />
      <div class="columns">
        <TextField label="Rows (k)" value={form.k} onChange={(k) => onChange({ k })} isNumber />
        {hasVector(form) ? <DistanceField {...props} /> : null}
      </div>
      <Details {...props} />
    </div>
  );
}

const SOURCES = [
  ['random', 'Random'],
  ['row', 'Like a row'],
  ['paste', 'Paste'],
] as const;

function VectorFields({ form, facts, onChange, onRun }: FormProps): JSX.Element {
  const column = searchedColumn(form, facts);
  const dimension = column === undefined ? 0 : (findDimension(column.type) ?? 0);
  return (
    <fieldset>
      <legend>Vector</legend>
      {facts.vectorColumns.length > 1 ? (
        <SelectField
          label="Column"
          value={column?.path ?? ''}
          options={facts.vectorColumns.map(({ path }) => ({ value: path }))}
          onChange={(path) => onChange({ column: path })}
        />
      ) : null}
      <Segments
        label="Where the vector comes from"
        value={form.source}
        options={SOURCES}
        onChange={(source) => onChange({ source })}
      />
      {form.source === 'random' ? (
        <div class="joined">
          <TextField label="Seed" value={form.seed} onChange={(seed) => onChange({ seed })} isNumber />
          <Button
            icon="refresh"
            label="Another vector"
            onClick={() => onChange({ seed: String(Number(form.seed) + 1) })}
          />
        </div>
      ) : null}
      {form.source === 'row' ? (
        <SqlBox
          label="Like the row where"
          value={form.like}
          onChange={(like) => onChange({ like })}
          onSubmit={onRun}
          placeholder="id = 7"
          place="filter"
          fields={facts.columns.map(({ path }) => path)}
        />
      ) : null}
      {form.source === 'paste' ? (
        <Field label={`${dimension} numbers`}>
          {({ id }) => (
            <textarea
              id={id}
              class="mono"
              rows={3}
              value={form.paste}
              placeholder="[0.1, 0.2, …]"
              onInput={(event) => onChange({ paste: event.currentTarget.value })}
            />
          )}
        </Field>
      ) : null}
    </fieldset>
  );
}

function TextFields({ form, facts, onChange }: FormProps): JSX.Element {
  const indexed = facts.indexes.filter((index) => index.index_type === 'FTS').flatMap(({ columns }) => columns);
  const others = facts.textColumns.filter((path) => !indexed.includes(path));
  return (
    <fieldset>
      <legend>Full text</legend>
      <TextField
        label="Words"
        value={form.words}
        onChange={(words) => onChange({ words })}
        placeholder="amber harbour"
      />
      <SelectField
        label="Column"
        value={form.wordsColumn}
        options={[
          { value: '', label: 'all with a full-text index' },
          ...indexed.map((path) => ({ value: path })),
          ...others.map((path) => ({ value: path, label: `${path} (no index)` })),
        ]}
        onChange={(wordsColumn) => onChange({ wordsColumn })}
      />
    </fieldset>
  );
}

function ColumnsField({ form, facts, onChange }: FormProps): JSX.Element {
  const chosen = splitPaths(form.columns);
  const toggle = (path: string): void => {
    const next = chosen.includes(path) ? chosen.filter((each) => each !== path) : [...chosen, path];
    onChange({ columns: next.join(', ') });
  };
  return (
    <div class="field" role="group" aria-label="Columns">
      <span class="label">
        Columns <span class="hint">{chosen.length === 0 ? 'all' : `${chosen.length} of ${facts.columns.length}`}</span>
      </span>
      <div class="chips">
        {facts.columns.map(({ path }) => (
          <button
            key={path}
            type="button"
            class="chip"
            aria-pressed={chosen.length === 0 ? undefined : chosen.includes(path)}
            onClick={() => toggle(path)}
          >
            {path}
          </button>
        ))}
      </div>
    </div>
  );
}

const DISTANCES = ['', 'l2', 'cosine', 'dot', 'hamming'];

function DistanceField({ form, onChange }: FormProps): JSX.Element {
  return (
    <SelectField
      label="Distance"
      value={form.distance}
      options={DISTANCES.map((value) => ({ value, label: value === '' ? 'of the index' : value }))}
      onChange={(distance) => onChange({ distance })}
    />
  );
}

function Details({ form, facts, onChange }: FormProps): JSX.Element {
  return (
    <>
      {hasVector(form) ? (
        <fieldset>
          <legend>Effort</legend>
          <div class="columns three">
            <TextField
              label="nprobes"
              value={form.nprobes}
              placeholder="auto"
              onChange={(nprobes) => onChange({ nprobes })}
              isNumber
            />
            <TextField
              label="refine"
              value={form.refine}
              placeholder="none"
              onChange={(refine) => onChange({ refine })}
              isNumber
            />
            <TextField label="ef" value={form.ef} placeholder="auto" onChange={(ef) => onChange({ ef })} isNumber />
          </div>
          <CheckField
            label="Filter before the search"
            isChecked={form.prefilter !== ''}
            onChange={(isChecked) => onChange({ prefilter: isChecked ? '1' : '' })}
          />
          <CheckField
            label="Exact: search every row"
            isChecked={form.exact !== ''}
            onChange={(isChecked) => onChange({ exact: isChecked ? '1' : '' })}
          />
        </fieldset>
      ) : null}
      <div class="columns">
        <SelectField
          label="Version"
          value={form.version}
          options={[
            { value: '', label: `latest (${facts.version})` },
            ...facts.versions.map((version) => ({ value: String(version) })),
          ]}
          onChange={(version) => onChange({ version })}
        />
        <SelectField
          label="Branch"
          value={form.branch}
          options={[{ value: '', label: 'main' }, ...facts.branches.map((value) => ({ value }))]}
          onChange={(branch) => onChange({ branch })}
        />
      </div>
    </>
  );
}
