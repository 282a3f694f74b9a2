/// A shell that completions can be made for.
enum Shell: String, FlagChoice {
    case bash, zsh, fish

    var flagValue: String { rawValue }

    /// A script that teaches the shell to complete commands, flags, their choices, files and remotes.
    var completions: String {
        switch self {
        case .bash: BashCompletions.script
        case .zsh: ZshCompletions.script
        case .fish: FishCompletions.script
        }
    }

    /// A word as all three take it, whatever is in it, fish with backslashes of its own.
    func quoted(_ text: String) -> String {
        switch self {
        case .bash, .zsh: "'" + text.replacing("'", with: "'\\''") + "'"
        case .fish: "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
        }
    }
}

extension String {
    /// Puts one text in the place of another.
    fileprivate func replacing(_ part: Character, with other: String) -> String {
        reduce(into: "") { text, character in
            if character == part { text += other } else { text.append(character) }
        }
    }
}
