"""The guide on a phone, in a browser without a network: no page is wider than 360 pixels, wider content scrolls by itself,
pictures exist, and the search finds its words.

phone_test.py HTML     HTML: the folder of the built guide"""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "runner"))
import browser

# elements that extend beyond the page and are in nothing that scrolls
WIDE = """return [...document.querySelectorAll("body *")].filter(e => {
  const place = e.getBoundingClientRect();
  if (place.width === 0 || place.right <= document.documentElement.clientWidth + 1) return false;
  for (let a = e; a !== document.body; a = a.parentElement)
    if (["auto", "scroll"].includes(getComputedStyle(a).overflowX)) return false;
  return true;
}).map(e => e.tagName + " " + e.textContent.slice(0, 60)).slice(0, 5)"""
# columns in which words are squeezed to a few letters each
NARROW = """return [...document.querySelectorAll("table.docutils td")].filter(e => {
  const style = getComputedStyle(e), width = e.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  return e.textContent.trim().length > 60 && width < 60;
}).map(e => e.textContent.trim().slice(0, 60)).slice(0, 5)"""
LOST = "return [...document.images].filter(i => i.complete && i.naturalWidth === 0).map(i => i.src)"
FOUND = "return [...document.querySelectorAll('#search-results li a')].some(a => a.href.includes(arguments[0]))"


class Phone(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.phone = browser.Browser()
        cls.addClassCleanup(cls.phone.close)
        cls.phone.size(360, 800)

    def test_no_page_is_wider_than_the_phone(self):
        pages = sorted(HTML.glob("*.html"))
        self.assertGreater(len(pages), 30)
        for page in pages:
            with self.subTest(page=page.name):
                self.phone.open(page)
                self.assertLessEqual(self.phone.run("return document.documentElement.scrollWidth"), 360)
                for script in WIDE, NARROW, LOST:
                    self.assertEqual(self.phone.run(script), [])

    def test_the_search_needs_no_server(self):
        for words, page in (("redundant constraints", "mechanics.html"), ("CPIntegratorSetProjector", "api.html"),
                            ("drive a joint", "recipes.html"), ("bearing force", "recipes.html"), ("redundant constraints", "recipes.html"),
                            ("which method", "which_method.html"), ("projection hook", "from_cvodes.html"), ("mujoco", "from_mujoco.html")):
            with self.subTest(words=words):
                self.phone.driver.get((HTML / "search.html").as_uri() + "?q=" + words.replace(" ", "+"))
                self.assertTrue(self.phone.until(lambda: self.phone.run(FOUND, page)), self.phone.find("#search-results").text)


if __name__ == "__main__":
    HTML = pathlib.Path(sys.argv.pop(1)).resolve()
    if not HTML.is_dir():
        sys.exit("needs the guide: the target doc builds it")
    unittest.main()
