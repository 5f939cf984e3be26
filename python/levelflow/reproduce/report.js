// Shows a check if its verdict is chosen and its entry contains the text. Hides entries and figures without shown
// checks.
const form = document.getElementById("filter");
const show = () => {
  const verdicts = new Set([...form.querySelectorAll(":checked")].map((box) => box.value));
  const text = form.querySelector("[type=search]").value.toLowerCase();
  for (const section of document.querySelectorAll("section")) {
    for (const article of section.querySelectorAll("article")) {
      const found = (section.id + article.textContent).toLowerCase().includes(text);
      for (const row of article.querySelectorAll("[data-verdict]")) {
        row.hidden = !found || !verdicts.has(row.dataset.verdict);
      }
      article.hidden = !article.querySelector("[data-verdict]:not([hidden])");
    }
    section.hidden = !section.querySelector("article:not([hidden])");
  }
};
form.hidden = false;
form.addEventListener("input", show);
form.addEventListener("submit", (event) => event.preventDefault());
show();
