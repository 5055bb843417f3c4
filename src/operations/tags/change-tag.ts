import { guardTagName } from '../../guard/ref-names.ts';
import { DelimiterQuery } from '../../wire/tables.ts';
import { TagBody, TagChangeBody } from '../../wire/tags.ts';
import { ChangeReply } from '../../wire/versions.ts';
import { defineTableOperation } from '../operation.ts';
import type { Reply, TableRequest } from '../operation.ts';
import { recordChange } from '../record-change.ts';
import type { Services } from '../services.ts';

const replies = [{ mediaType: 'application/json', shape: ChangeReply, description: 'The record of the change.' }];

export const createTag = defineTableOperation({
  id: 'create_table_tag',
  methods: ['POST'],
  path: '/v1/table/:id/tags/create',
  summary: 'Give a version a name',
  permission: 'write',
  body: { kind: 'json', shape: TagChangeBody },
  query: DelimiterQuery,
  replies,
  statuses: [409],
  run: create,
});

export const updateTag = defineTableOperation({
  id: 'update_table_tag',
  methods: ['POST'],
  path: '/v1/table/:id/tags/update',
  summary: 'Let a tag name another version',
  permission: 'write',
  body: { kind: 'json', shape: TagChangeBody },
  query: DelimiterQuery,
  replies,
  statuses: [],
  run: update,
});

export const deleteTag = defineTableOperation({
  id: 'delete_table_tag',
  methods: ['POST'],
  path: '/v1/table/:id/tags/delete',
  summary: 'Delete a tag; the version stays',
  permission: 'write',
  body: { kind: 'json', shape: TagBody },
  query: DelimiterQuery,
  replies,
  statuses: [],
  run: remove,
});

async function create(request: TableRequest<TagChangeBody>, services: Services): Promise<Reply> {
  const { table, body } = request;
  const { version, branch } = body;
  const change = { tag: guardTagName(body.tag), version };
  await services.writes.exclusive(table.location, async () =>
    services.engine.versions.createTag({ location: table.location, branch }, change),
  );
  return recordChange(request, services, { operation: 'create_table_tag', version, branch });
}

async function update(request: TableRequest<TagChangeBody>, services: Services): Promise<Reply> {
  const { table, body } = request;
  const { version, branch } = body;
  const change = { tag: guardTagName(body.tag), version };
  await services.writes.exclusive(table.location, async () =>
    services.engine.versions.updateTag({ location: table.location, branch }, change),
  );
  return recordChange(request, services, { operation: 'update_table_tag', version, branch });
}

async function remove(request: TableRequest<TagBody>, services: Services): Promise<Reply> {
  const { table, body } = request;
  const { version, branch } = await services.writes.exclusive(table.location, async () =>
    services.engine.versions.removeTag(table.location, guardTagName(body.tag)),
  );
  return recordChange(request, services, { operation: 'delete_table_tag', version, branch });
}
