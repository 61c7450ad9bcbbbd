# Completion of lopsided in fish, as `lopsided --install-completion` writes it.
function __lopsided_complete
    set -l before (commandline --cut-at-cursor --tokenize --current-process)
    set -l word (commandline --cut-at-cursor --current-token | string replace --regex '^[\'"]' '')
    $before[1] --complete fish $before[2..-1] "$word" 2>/dev/null
end
complete --command lopsided --no-files --arguments '(__lopsided_complete)'
