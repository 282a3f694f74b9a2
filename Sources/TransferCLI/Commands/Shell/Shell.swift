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
    /// Puts one text in the place of another. By scalars: to a shell a quote is one whatever sign follows.
    fileprivate func replacing(_ part: Unicode.Scalar, with other: String) -> String {
        unicodeScalars.reduce(into: "") { text, scalar in
            if scalar == part { text += other } else { text.unicodeScalars.append(scalar) }
        }
    }
}
