/// The completion script for zsh 5, to be put into a directory of `fpath` or to be sourced after `compinit`.
enum ZshCompletions {
    static var script: String {
        """
        #compdef transfer
        # Completions of transfer for zsh, made by 'transfer completions zsh'.

        # Remotes, and what is on the one that is named, or on the server of the configuration unless _transfer_from is
        # --no-from: nothing is asked and nothing said, whatever happens.
        _transfer_places() {
            local -a hits
            hits=(${(f)"$(transfer list --completions --no-ask-token $_transfer_from -- "${(Q)PREFIX}" 2>/dev/null </dev/null)"})
            # More follows a remote and a folder.
            local -a open=(${(M)hits:#*[:/]}) closed=(${hits:#*[:/]})
            compadd -S '' -a open
            compadd -a closed
        }

        _transfer_places_and_files() {
            _transfer_places
            _files
        }

        _transfer_targets_and_files() {
            local _transfer_from=--no-from
            _transfer_places_and_files
        }

        # A folder may follow the name.
        _transfer_remotes() {
            local -a names
            if [[ $PREFIX == *:* ]]; then _transfer_places; return; fi
            names=(${(f)"$(transfer remote list --names --no-json 2>/dev/null)"})
            compadd -S '' -a names
        }

        # Several names may stand with commas between them.
        _transfer_people() {
            local -a names
            names=(${(f)"$(transfer people --names --no-json 2>/dev/null)"})
            compset -P '*,'
            compadd -a names
        }

        # Offers the words that can follow the words of a command.
        _transfer_words() {
            local -a choices
            case $1 in
        \(stems)
                *) return 1 ;;
            esac
            _describe -t commands command choices
        }

        _transfer_arguments() {
            case $1 in
        \(commands)
            esac
        }

        _transfer() {
            local chosen='' about=''
            while (( CURRENT > 2 )); do
                case "${chosen:+$chosen }$words[2]" in
                    \(known)) chosen+="${chosen:+ }$words[2]" ;;
                    *) break ;;
                esac
                shift words
                (( CURRENT-- ))
                case $chosen in
                    \(alternatives(CommandTree.aboutCommands.map(\.name)))) about=$chosen chosen='' ;;
                esac
            done
            if [[ $words[CURRENT] == -* ]]; then
                _transfer_arguments "${chosen:-$about}"
            elif (( CURRENT == 2 )) && _transfer_words "$chosen"; then
                return 0
            else
                # Behind help there is nothing but words.
                case $about in
                    '' | \(alternatives(CommandTree.aboutCommands.filter(\.takesCommandLine).map(\.name))))
                        _transfer_arguments "$chosen" ;;
                esac
            fi
        }

        if [[ $funcstack[1] == _transfer ]]; then
            _transfer "$@"
        else
            compdef _transfer transfer
        fi

        """
    }

    private static func quoted(_ text: String) -> String { Shell.zsh.quoted(text) }

    private static func alternatives(_ patterns: [String]) -> String {
        patterns.map(quoted).joined(separator: " | ")
    }

    private static var known: String { alternatives(CommandTree.paths) }

    private static var stems: String {
        CommandTree.stems.map { stem in
            let words = CommandTree.words(after: stem).map { quoted("\(colonFree($0.text)):\($0.summary)") }
            return "        \(quoted(stem))) choices=(\(words.joined(separator: " "))) ;;"
        }
        .joined(separator: "\n")
    }

    private static var commands: String {
        ([Commands.program] + Commands.all).map { command in
            let operands = command.operands.flatMap { _ in action(of: command.operandCompletion) }
            let specifications =
                command.flags.map(specification(of:))
                + (operands.map { [quoted("*:\(colonFree(command.operands ?? "")):\($0)")] } ?? [])
            return "        \(alternatives(command.names)))\n            _arguments -s -S : \\\n"
                + specifications.map { "                \($0)" }.joined(separator: " \\\n") + "\n            ;;"
        }
        .joined(separator: "\n")
    }

    /// The specification of a flag for `_arguments` (zshcompsys(1)).
    private static func specification(of flag: Flag) -> String {
        let text = "[\(flag.help.reduce(into: "") { $0 += ("[]\\:".contains($1) ? "\\" : "") + String($1) })]"
        let isBare = flag.bareValue != nil
        let value =
            flag.placeholder.map { (isBare ? ":" : "") + ":\(colonFree($0)):\(action(of: flag.completion) ?? " ")" }
            ?? ""
        let sign = flag.isSwitch ? "" : isBare ? "=-" : "="
        let long = "\(flag.spelling)\(sign)"
        guard let short = flag.short else { return quoted((flag.isRepeatable ? "*" : "") + long + text + value) }
        let letter = "-\(short)" + (flag.isSwitch ? "" : "+")
        let exclusion = flag.isRepeatable ? "'*'" : quoted("(\(flag.spellings.joined(separator: " ")))")
        return "\(exclusion){\(letter),\(long)}\(quoted(text + value))"
    }

    private static func action(of value: FlagValue) -> String? {
        switch value {
        case .text, .size, .duration, .command: nil
        case .file: "_files"
        case .folder: "_path_files -/"
        case .server, .remote: "_transfer_remotes"
        case .place: "_transfer_places"
        case .placeOrFile: "_transfer_places_and_files"
        case .fileOrTarget: "_transfer_targets_and_files"
        case .person: "_transfer_people"
        case .oneOf(let choices): "(\(choices.joined(separator: " ")))"
        }
    }

    private static func colonFree(_ text: String) -> String {
        text.reduce(into: "") { $0 += ($1 == ":" ? "\\" : "") + String($1) }
    }
}
