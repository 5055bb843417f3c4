import { Type } from 'typebox';
import * as Shape from '../shapes.ts';

const DiffedState = Shape.strictObject(
  {
    version: Type.Optional(Shape.Version),
    tag: Shape.optionalText('Tag of the version. Cannot be combined with `version` or `branch`.'),
    branch: Type.Optional(Shape.Branch),
  },
  { description: 'A version of the table. Without a version or tag, the latest version of the branch.' },
);
export type DiffedState = Type.Static<typeof DiffedState>;

const names = (description: string) => Type.Array(Type.String(), { description });

export const DiffTableBody = Shape.requestBody({
  from: DiffedState,
  to: Type.Optional(DiffedState),
  on: Type.Optional(names('Columns that identify a row; by default the server chooses them.')),
  columns: Type.Optional(names('Columns to compare and return; all by default.')),
  limit: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: 'Maximum number of rows to return; 100 by default. `counts` always includes all changes.',
    }),
  ),
});
export type DiffTableBody = Type.Static<typeof DiffTableBody>;

const ResolvedState = Type.Object({
  version: Shape.Version,
  branch: Type.String({ description: '`main` for the main branch.' }),
});

const ColumnType = Type.Object({ name: Type.String(), type: Type.String() });

const ChangedRow = Type.Object({
  change: Type.Union([Type.Literal('added'), Type.Literal('removed'), Type.Literal('changed')]),
  key: Shape.anyObject('Values of the columns that identify the row, or its `_rowid`.'),
  before: Type.Optional(Shape.anyObject('The row in `from`; absent if it was added.')),
  after: Type.Optional(Shape.anyObject('The row in `to`; absent if it was removed.')),
  changed: Type.Optional(names('For a changed row, the columns whose values differ.')),
});
export type ChangedRow = Type.Static<typeof ChangedRow>;

export const DiffTableReply = Type.Object({
  from: ResolvedState,
  to: ResolvedState,
  key: Type.Object({
    kind: Type.Union([Type.Literal('columns'), Type.Literal('row_ids')]),
    columns: names('Key columns; empty if rows were matched by row id.'),
    repeated: Type.Boolean({
      description: 'Whether several changed rows in one version have the same key. Such rows are paired in order.',
    }),
  }),
  columns: Type.Object({
    added: Type.Array(ColumnType),
    removed: Type.Array(ColumnType),
    changed: Type.Array(Type.Object({ name: Type.String(), from: Type.String(), to: Type.String() }), {
      description: 'Columns whose type differs.',
    }),
  }),
  counts: Type.Object({ added: Shape.count(), removed: Shape.count(), changed: Shape.count() }),
  rows: Type.Array(ChangedRow, { description: 'Changed rows, with values encoded as in the JSON rows of a query.' }),
  truncated: Type.Boolean({ description: 'Whether there are more changes than `rows` contains.' }),
});
export type DiffTableReply = Type.Static<typeof DiffTableReply>;
