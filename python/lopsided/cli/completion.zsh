# Completion of lopsided in zsh, as `lopsided --install-completion` writes it.
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
_lopsided() {
  local found
  local -a whole whole_texts begun begun_texts
  for found in "${(@f)$(${~words[1]} --complete zsh "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}"; do
    [[ -n $found ]] || continue
    # No space after a word that can be continued.
    if [[ ${found%%$'\t'*} == *[./=] ]]; then
      begun+=("${found%%$'\t'*}")
      begun_texts+=("${found/$'\t'/  }")
    else
      whole+=("${found%%$'\t'*}")
      whole_texts+=("${found/$'\t'/  }")
    fi
  done
  (( $#begun )) && compadd -l -S '' -d begun_texts -a begun
  (( $#whole )) && compadd -l -d whole_texts -a whole
}
compdef _lopsided lopsided
