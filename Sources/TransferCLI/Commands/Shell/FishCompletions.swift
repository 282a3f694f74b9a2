/// The completion script for fish 3.
enum FishCompletions {
    static var script: String {
        """
        # Completions of transfer for fish, made by 'transfer completions fish'.

        # Whether these are the words of the command that is typed.
        function __transfer_at
            set -l typed (commandline -opc)
            set -e typed[1]
            set -l chosen
            for word in $typed
                contains -- "$chosen $word" \(paths)
                or break
                set chosen "$chosen $word"
            end
            # Other names of commands.
            switch $chosen
        \(aliases)
            end
            # What follows belongs to the other command.
            for about in \(prefixes)
                set chosen (string replace -r -- "^$about (?=.)" ' ' "$chosen")
            end
            test "$chosen" = "$argv[1]"
        end

        # Remotes, and what is on the one that is named, or on the server of the configuration unless $argv is --no-from: nothing is
        # asked and nothing said, whatever happens.
        function __transfer_places
            set -l word (commandline -ct | string replace -r -- '^-[^=]*=' '')
            transfer list --completions --no-ask-token $argv -- "$word" 2>/dev/null </dev/null
        end

        function __transfer_servers
            if commandline -ct | string match -q -- '*:*'
                __transfer_places
            else
                transfer remote list --names --no-json 2>/dev/null
            end
        end

        # Whether nothing but these words is typed, so that another one may follow.
        function __transfer_after
            set -l typed (commandline -opc)
            set -e typed[1]
            set typed ' '$typed
            test (string join -- '' $typed | string collect -a) = "$argv[1]"
        end

        complete -c transfer -f
        \(words)
        \(([Commands.program] + Commands.all).flatMap(lines).joined(separator: "\n"))

        """
    }

    private static func quoted(_ text: String) -> String { Shell.fish.quoted(text) }

    private static var paths: String { (CommandTree.paths + asked).map { quoted(" \($0)") }.joined(separator: " ") }

    /// The words that can follow `help` and similar commands.
    private static var asked: [String] {
        CommandTree.aboutCommands.flatMap { about in CommandTree.paths.map { "\(about.name) \($0)" } }
    }

    private static var aliases: String {
        Commands.all.flatMap { command in
            command.aliases.map {
                "        case \(quoted(" \($0)"))\n            set chosen \(quoted(" \(command.name)"))"
            }
        }
        .joined(separator: "\n")
    }

    private static var prefixes: String {
        CommandTree.aboutCommands.filter(\.takesCommandLine).map { quoted(" \($0.name)") }.joined(separator: " ")
    }

    private static var words: String {
        let prefixes = [""] + CommandTree.aboutCommands.map { $0.name + " " }
        return prefixes.flatMap { prefix in
            CommandTree.stems.flatMap { stem in
                CommandTree.words(after: stem).map { word in
                    let typed = (prefix + stem).split(separator: " ").joined(separator: " ")
                    return "complete -c transfer -n \(condition("__transfer_after", typed)) -a \(word.text) "
                        + "-d \(quoted(word.summary))"
                }
            }
        }
        .joined(separator: "\n")
    }

    private static func lines(_ command: Command) -> [String] {
        let at = condition("__transfer_at", command.name)
        let flags = command.flags.map { flag in
            let short = flag.short.map { " -s \($0)" } ?? ""
            let value = flag.isSwitch || flag.bareValue != nil ? "" : arguments(for: flag.completion) ?? " -x"
            return "complete -c transfer -n \(at)\(short) -l \(flag.name)\(value) -d \(quoted(flag.help))"
        }
        let operands = command.operands.flatMap { _ in arguments(for: command.operandCompletion) }
        return flags + (operands.map { ["complete -c transfer -n \(at)\($0)"] } ?? [])
    }

    private static func condition(_ function: String, _ words: String) -> String {
        quoted("\(function) \"\(words.isEmpty ? "" : " ")\(words)\"")
    }

    private static func arguments(for value: FlagValue) -> String? {
        switch value {
        case .text, .size, .duration, .command: nil
        case .file: " -r -F"
        case .folder:
            " -x -a '(__fish_complete_directories (string replace -r -- \"^-[^=]*=\" \"\" (commandline -ct)) \"\")'"
        case .server: " -x -a '(__transfer_servers)'"
        case .place: " -x -a '(__transfer_places)'"
        case .placeOrFile: " -F -a '(__transfer_places)'"
        case .fileOrTarget: " -F -a '(__transfer_places --no-from)'"
        case .remote: " -x -a '(transfer remote list --names --no-json 2>/dev/null)'"
        case .person: " -x -a '(__fish_complete_list , \"transfer people --names --no-json 2>/dev/null\")'"
        case .oneOf(let choices): " -x -a \(quoted(choices.joined(separator: " ")))"
        }
    }
}
