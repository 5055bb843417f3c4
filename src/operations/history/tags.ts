import type { Tag } from '../../engine/engine.ts';
import {
  ListTagsBody,
  ListTagsQuery,
  ListTagsReply,
  TagBody,
  TagChangeBody,
  TagVersionReply,
} from '../../wire/history/tags.ts';
import type { TagShape } from '../../wire/history/tags.ts';
import { defineTableOperation, json } from '../operation.ts';
import type { Reply, TableRequest } from '../operation.ts';
import { cutPage, limitWithNext, readPage } from '../shared/pages.ts';
import type { Services } from '../services.ts';
import { guardTagName } from '../../guard/names.ts';
import { ChangeReply } from '../../wire/history/versions.ts';
import { recordChange } from '../shared/record-commit.ts';

export const listTags = defineTableOperation({
  id: 'list_table_tags',
  methods: ['POST', 'GET'],
  path: '/v1/table/:id/tags/list',
  summary: 'List the tags of a table',
  permission: 'read',
  body: { kind: 'json', shape: ListTagsBody },
  query: ListTagsQuery,
  replies: [json(ListTagsReply, 'The tags by name.')],
  run: list,
});

async function list(request: TableRequest<ListTagsBody>, services: Services): Promise<Reply> {
  const page = readPage(request, request.body, services);
  const window = { after: page.after, limit: limitWithNext(page) };
  const found = await services.engine.versions.listTags(request.table.location, window);
  const { entries, token } = cutPage(found, page, ({ name }) => name);
  const tags = Object.fromEntries(entries.map((tag) => [tag.name, toTagShape(tag)]));
  // The LanceDB client reads the map itself; whatever stands around it would be a tag to it.
  if (request.dialect === 'lancedb') return { kind: 'value', value: tags };
  const reply: ListTagsReply = { tags, ...token };
  return { kind: 'object', body: reply };
}

function toTagShape({ version, branch, manifestBytes, createdAt }: Tag): TagShape {
  return {
    version,
    ...(branch === undefined ? {} : { branch }),
    manifestSize: manifestBytes,
    ...(createdAt === undefined ? {} : { createdAt }),
  };
}

const replies = [json(ChangeReply, 'The record of the change.')];

export const createTag = defineTableOperation({
  id: 'create_table_tag',
  path: '/v1/table/:id/tags/create',
  summary: 'Give a version a name',
  permission: 'write',
  body: { kind: 'json', shape: TagChangeBody },
  replies,
  statuses: [409],
  run: create,
});

export const updateTag = defineTableOperation({
  id: 'update_table_tag',
  path: '/v1/table/:id/tags/update',
  summary: 'Let a tag name another version',
  permission: 'write',
  body: { kind: 'json', shape: TagChangeBody },
  replies,
  run: update,
});

export const deleteTag = defineTableOperation({
  id: 'delete_table_tag',
  path: '/v1/table/:id/tags/delete',
  summary: 'Delete a tag; the version stays',
  permission: 'write',
  body: { kind: 'json', shape: TagBody },
  replies,
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

export const tagVersion = defineTableOperation({
  id: 'get_table_tag_version',
  path: '/v1/table/:id/tags/version',
  summary: 'Tell which version a tag names',
  permission: 'read',
  body: { kind: 'json', shape: TagBody },
  replies: [json(TagVersionReply, 'The version and its branch.')],
  run: tell,
});

async function tell(request: TableRequest<TagBody>, services: Services): Promise<Reply> {
  const { table, body } = request;
  const { version, branch } = await services.engine.versions.requireTag(table.location, guardTagName(body.tag));
  const reply: TagVersionReply = { version, ...(branch === undefined ? {} : { branch }) };
  return { kind: 'object', body: reply };
}
