/** Reads the replies of stores: elements without attributes that matter, and without mixed content. */

/** The contents of all elements with this name, which must not be nested in each other. */
export function findElements(xml: string, name: string): readonly string[] {
  const pattern = new RegExp(`<${name}(?:\\s[^>]*)?>([\\s\\S]*?)</${name}>`, 'g');
  return Array.from(xml.matchAll(pattern), ([, content = '']) => content);
}

export function findText(xml: string, name: string): string | undefined {
  const [content] = findElements(xml, name);
  return content === undefined ? undefined : unescape(content);
}

export function requireText(xml: string, name: string): string {
  const text = findText(xml, name);
  if (text === undefined) throw new Error(`The store's reply has no ${name}.`);
  return text;
}

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };

function unescape(text: string): string {
  return text.replace(/&(?:#x([0-9a-fA-F]+)|#(\d+)|(\w+));/g, (all, hex?: string, decimal?: string, name?: string) => {
    if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex, 16));
    if (decimal !== undefined) return String.fromCodePoint(Number(decimal));
    return ENTITIES[name ?? ''] ?? all;
  });
}

export function escapeXml(text: string): string {
  return text.replace(/[<>&"']/g, (char) => `&#${char.charCodeAt(0)};`);
}
