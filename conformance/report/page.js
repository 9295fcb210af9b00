// Filters and searches the list of requirements, and opens what a link leads to. Without it every row is still there.
(() => {
  const form = document.querySelector(".filters");
  const rows = [...document.querySelectorAll(".rows > li")].map((item) => ({ item, text: null }));
  const groups = [...document.querySelectorAll(".group"), ...document.querySelectorAll(".surface")];
  const text = (row) => {
    // Bodies of exchanges are left out: a word of theirs would match nearly every row.
    row.text ??= [...row.item.querySelectorAll("summary, .standing, .known, .reason, .said, h5, .passes")]
      .map((part) => part.textContent)
      .join(" ")
      .toLowerCase();
    return row.text;
  };
  const fits = (value, wish) =>
    wish === "applies" ? value !== "not_applicable" : value.split(" ").includes(wish);
  const apply = () => {
    const wanted = Object.fromEntries(new FormData(form));
    const words = wanted.text.toLowerCase().split(/\s+/).filter(Boolean);
    const matches = (row) =>
      ["verdict", "surface", "level", "lane"].every(
        (name) => !wanted[name] || fits(row.item.dataset[name], wanted[name]),
      ) && words.every((word) => text(row).includes(word));
    let found = 0;
    for (const row of rows) {
      row.item.hidden = !matches(row);
      found += row.item.hidden ? 0 : 1;
    }
    for (const group of groups) group.hidden = !group.querySelector(".rows > li:not([hidden])");
    form.elements.found.value = `${found} of ${rows.length}`;
    document.querySelector(".empty").hidden = found > 0;
    // What is left may lie above where one has scrolled to.
    const first = rows.find((row) => !row.item.hidden);
    if ((first?.item ?? form).getBoundingClientRect().top < 0) form.parentElement.scrollIntoView();
  };
  const reveal = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    if (target.closest(".rows > li")?.hidden || target.hidden) form.reset();
    for (let part = target; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
    const summary = target.closest("details")?.querySelector("summary");
    summary?.focus({ preventScroll: true });
    (summary ?? target).scrollIntoView();
  };
  form.hidden = false;
  // Rows that do not apply are hidden at first: on a rail alone they are four of five.
  if (form.elements.verdict.querySelector('[value="not_applicable"]')) {
    form.elements.verdict.value = "applies";
    apply();
  }
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => {
    // The fields are empty only after this event.
    for (const field of form.querySelectorAll("input, select")) field.value = "";
    apply();
  });
  for (const link of document.querySelectorAll(".legend a")) {
    link.addEventListener("click", () => {
      form.reset();
      form.elements.verdict.value = link.dataset.verdict;
      apply();
    });
  }
  // A link to where one already is changes no address, and yet must lead there.
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (link && link.hash === location.hash) reveal();
  });
  addEventListener("hashchange", reveal);
  addEventListener("beforeprint", () => {
    for (const row of document.querySelectorAll(".rows > .v-fail > details, .rows > .v-error > details")) row.open = true;
  });
  reveal();
})();
