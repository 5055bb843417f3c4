import { guardTagName } from '../../guard/names.ts';
import { ListTagsReply, TagBody, TagChangeBody, TagVersionReply } from '../../wire/history/refs.ts';
import { ChangeReply } from '../../wire/history/versions.ts';
import { ListBody, ListQuery } from '../../wire/shapes.ts';
import { defineTableOperation, json, objectReply } from '../operation.ts';
import type { Operation } from '../operation.ts';
import { cutPage, readPage, withNext } from '../shared/pages.ts';
import { runChange } from '../shared/record-commit.ts';

export const listTags = defineTableOperation({
  id: 'list_table_tags',
  methods: ['POST', 'GET'],
  path: '/v1/table/:id/tags/list',
  summary: 'List the tags of a table',
  permission: 'read',
  body: { kind: 'json', shape: ListBody },
  query: ListQuery,
  replies: [json(ListTagsReply, 'The tags by name.')],
  async run(request, services) {
    const page = readPage(request, services, guardTagName);
    const found = await services.engine.versions.listTags(request.table.location, withNext(page));
    const { entries, page_token } = cutPage(found, page.limit, ({ name }) => name);
    const shapes = entries.map(({ name, version, branch, manifestBytes, createdAt }) => {
      return [name, { version, branch, manifestSize: manifestBytes, createdAt }] as const;
    });
    const tags = Object.fromEntries(shapes);
    // The LanceDB client expects the map itself, and would treat any other field as a tag.
    return request.dialect === 'lancedb'
      ? { kind: 'value', value: tags }
      : objectReply<typeof ListTagsReply>({ tags, page_token });
  },
});

export const tagVersion = defineTableOperation({
  id: 'get_table_tag_version',
  path: '/v1/table/:id/tags/version',
  summary: 'Get the version of a tag',
  permission: 'read',
  body: { kind: 'json', shape: TagBody },
  replies: [json(TagVersionReply, 'The version and its branch.')],
  async run({ table, body }, { engine }) {
    const { version, branch } = await engine.versions.requireTag(table.location, guardTagName(body.tag));
    return objectReply<typeof TagVersionReply>({ version, branch });
  },
});

export const createTag = defineTagChange('createTag', {
  id: 'create_table_tag',
  path: '/v1/table/:id/tags/create',
  summary: 'Tag a version',
  statuses: [409],
});

export const updateTag = defineTagChange('updateTag', {
  id: 'update_table_tag',
  path: '/v1/table/:id/tags/update',
  summary: 'Move a tag to another version',
});

export const deleteTag = defineTableOperation({
  id: 'delete_table_tag',
  path: '/v1/table/:id/tags/delete',
  summary: 'Delete a tag and keep its version',
  permission: 'write',
  body: { kind: 'json', shape: TagBody },
  replies: [json(ChangeReply, 'The transaction id of the change.')],
  async run(request, services) {
    const { location } = request.table;
    return runChange(request, services, async (confirm) =>
      services.engine.versions.removeTag(location, guardTagName(request.body.tag), confirm),
    );
  },
});

type TagChange = Pick<Operation, 'id' | 'path' | 'summary'> & Partial<Pick<Operation, 'statuses'>>;

function defineTagChange(method: 'createTag' | 'updateTag', operation: TagChange): Operation {
  return defineTableOperation({
    ...operation,
    permission: 'write',
    body: { kind: 'json', shape: TagChangeBody },
    replies: [json(ChangeReply, 'The transaction id of the change.')],
    async run(request, services) {
      const { location } = request.table;
      const { version, branch } = request.body;
      const change = { tag: guardTagName(request.body.tag), version };
      return runChange(request, services, async (confirm) => {
        await services.engine.versions[method]({ location, branch }, change, confirm);
        return { version, branch };
      });
    },
  });
}
