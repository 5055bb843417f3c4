import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';

/** A text: the tests are not compiled for browsers, and know nothing of what is in a page. */
const AUDIT = readFileSync('test/fixtures/console/page-audit.js', 'utf8');

/** What in the page, or in its open dialog, fails an accessibility rule, in each colour scheme. */
export async function auditPage(page: Page): Promise<readonly string[]> {
  const found: string[] = [];
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    for (const fault of (await page.evaluate(AUDIT)) as readonly string[]) found.push(`${colorScheme}: ${fault}`);
  }
  await page.emulateMedia({ colorScheme: 'light' });
  return found;
}

/** How the focused element and what is around it look, and who it is. */
const LOOK = `(() => {
  const element = document.activeElement;
  if (element === null || element === document.body) return undefined;
  const around = [element, element.parentElement, element.parentElement.parentElement, element.nextElementSibling];
  const inside = element.querySelector('.marked, .body') ;
  const looks = () => [...around, inside].map((each) => {
    if (each === null) return '';
    const { outline, boxShadow, borderColor, backgroundColor, stroke, strokeWidth } = getComputedStyle(each);
    return [outline, boxShadow, borderColor, backgroundColor, stroke, strokeWidth].join(' ');
  }).join('|');
  const focused = looks();
  element.blur();
  return { name: element.outerHTML.slice(0, 120), isSeen: focused !== looks() };
})()`;

/** The stops of the Tab key whose focus cannot be seen; and how many stops there are. */
export async function auditFocus(page: Page, stopsMax = 60): Promise<{ unseen: readonly string[]; stops: number }> {
  const unseen: string[] = [];
  for (let stops = 0; stops < stopsMax; stops += 1) {
    await page.keyboard.press('Tab');
    const look = (await page.evaluate(LOOK)) as { name: string; isSeen: boolean } | undefined;
    if (look === undefined) return { unseen, stops };
    if (!look.isSeen) unseen.push(look.name);
  }
  return { unseen, stops: stopsMax };
}
