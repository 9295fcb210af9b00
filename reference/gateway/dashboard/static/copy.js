// The buttons that copy an id. Without this script they stay hidden, and the ids can be selected as text.
(() => {
  "use strict";

  const SHOWN_MS = 2000;
  const live = document.getElementById("copied");

  // A live region is read aloud when its text changes, so it is emptied first: the same id can be copied twice.
  function announce(text) {
    live.textContent = "";
    setTimeout(() => { live.textContent = text; }, 50);
  }

  function select(button) {
    getSelection().selectAllChildren(button.parentElement.querySelector(".id"));
  }

  // Browsers offer the clipboard on https and on this machine only; elsewhere the older command may still copy.
  async function copied(button) {
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      return true;
    } catch {
      select(button);
      return document.execCommand("copy");
    }
  }

  async function copy(button) {
    const word = button.firstElementChild;
    if (await copied(button)) {
      word.textContent = "Copied";
      announce(`Copied ${button.dataset.name}`);
    } else {
      select(button);
      word.textContent = "Selected";
      announce(`Not copied. ${button.dataset.name} is selected; copy it with the keyboard.`);
    }
    clearTimeout(button.reset);
    button.reset = setTimeout(() => { word.textContent = "Copy"; }, SHOWN_MS);
  }

  for (const button of document.querySelectorAll(".copy")) {
    button.hidden = false;
    button.addEventListener("click", () => copy(button));
  }
})();
