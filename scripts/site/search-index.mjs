import MiniSearch from 'minisearch';

const EXCERPT_CHARACTERS = 4000;

/**
 * The index as a script, because pages opened from the file system may not fetch. The options are those of search.js.
 */
export function searchScript(pages) {
  const index = new MiniSearch({
    fields: ['title', 'text', 'page'],
    storeFields: ['title', 'page', 'address', 'text', 'isRow'],
  });
  let id = 0;
  for (const { name: page, title: heading, address, entries } of pages)
    for (const { id: anchor, title, text, isRow } of entries) {
      id += 1;
      index.add({
        id,
        page,
        title,
        address: title === heading ? address : `${address}#${anchor}`,
        text: text.trim().slice(0, EXCERPT_CHARACTERS),
        isRow: isRow === true,
      });
    }
  return `window.searchIndex = ${JSON.stringify(JSON.stringify(index))};\n`;
}
