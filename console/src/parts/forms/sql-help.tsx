import type { JSX } from 'preact';
import { Popover } from '../popover.tsx';

const FORMS: readonly (readonly [string, string])[] = [
  ['price > 5 AND NOT sold', 'comparison: = <> < <= > >=, AND OR NOT'],
  ["name LIKE 'a%'", 'pattern: % any text, _ one character; ILIKE ignores case'],
  ["city IN ('Bonn', 'Köln')", 'one of a list'],
  ['price BETWEEN 1 AND 9', 'both ends included'],
  ['note IS NULL', 'no value; also IS NOT NULL'],
  ["address.city = 'Bonn'", 'a field inside a struct'],
  ['`zip.code` = 1', 'backticks around names with dots or spaces'],
  ["day >= DATE '2024-05-06'", 'also TIMESTAMP, INTERVAL'],
  ['CAST(price AS INT)', 'convert to another type'],
  ["array_has(tags, 'new')", 'in a list'],
  ["regexp_like(name, '^a')", 'regular expression'],
  ['lower(name), round(x), length(s), coalesce(a, b)', 'functions for text and numbers'],
];

const FIELDS_MAX = 40;

export function SqlHelp({ fields }: { readonly fields: readonly string[] }): JSX.Element {
  return (
    <Popover label="Help on filters" icon="help" kind="quiet" side="right">
      {() => (
        <div class="sql-help" tabIndex={0}>
          <h2>Filters are SQL expressions</h2>
          <dl>
            {FORMS.map(([form, meaning]) => (
              <div key={form}>
                <dt>
                  <code>{form}</code>
                </dt>
                <dd>{meaning}</dd>
              </div>
            ))}
          </dl>
          <p class="hint">
            Put text in single quotes, and never put names in double quotes. Names in backticks are case-sensitive.
          </p>
          {fields.length === 0 ? null : (
            <p class="hint">
              Fields:{' '}
              {fields.slice(0, FIELDS_MAX).map((field, index) => (
                <span key={field}>
                  {index === 0 ? null : ', '}
                  <code>{field}</code>
                </span>
              ))}
              {fields.length > FIELDS_MAX ? ', …' : null}
            </p>
          )}
        </div>
      )}
    </Popover>
  );
}
