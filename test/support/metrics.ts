import assert from 'node:assert/strict';

/** What `/metrics` shows: `value('name', { label: 'x' })` is the sum over all labels that are not given. */
export class ShownMetrics {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  static async read(url: string, key: string): Promise<ShownMetrics> {
    const answer = await fetch(`${url}/metrics`, { headers: { 'x-api-key': key } });
    const text = await answer.text();
    assert.equal(answer.status, 200, text);
    return new ShownMetrics(text);
  }

  names(): readonly string[] {
    return [...this.text.matchAll(/^# TYPE (\w+) \w+$/gm)].map(([, name = '']) => name);
  }

  value(name: string, labels: Readonly<Record<string, string>> = {}): number {
    const lines = this.text.split('\n').filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`));
    const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
    return lines
      .filter((line) => wanted.every((part) => line.includes(part)))
      .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
  }
}
